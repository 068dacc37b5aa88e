; Made from c/pool.c by `make native`.

%struct.anon = type { i32, [60 x i8], i64, [56 x i8], i64, [56 x i8], i64, [56 x i8], i64, [56 x i8], i64, [56 x i8], %struct.anon.0, [32 x i8] }
%struct.anon.0 = type { ptr, ptr, i64, i64 }
%union.pthread_attr_t = type { i64, [56 x i8] }

@pool = internal global %struct.anon zeroinitializer, align 64

define void @NAME_parallel(ptr noundef %function, ptr noundef %args, i64 noundef %units, i64 noundef %grain) local_unnamed_addr #0 {
entry:
  %0 = load atomic i64, ptr getelementptr inbounds (i8, ptr @pool, i64 320) monotonic, align 64
  %cmp = icmp slt i64 %0, 2
  br i1 %cmp, label %if.then, label %lor.lhs.false

lor.lhs.false:                                    ; preds = %entry
  %1 = cmpxchg ptr getelementptr inbounds (i8, ptr @pool, i64 192), i64 0, i64 1 acq_rel monotonic, align 64
  %2 = extractvalue { i64, i1 } %1, 1
  br i1 %2, label %if.end, label %if.then

if.then:                                          ; preds = %lor.lhs.false, %entry
  tail call void %function(ptr noundef %args, i64 noundef 0, i64 noundef %units) #7
  br label %cleanup

if.end:                                           ; preds = %lor.lhs.false
  store ptr %function, ptr getelementptr inbounds (i8, ptr @pool, i64 384), align 64
  store ptr %args, ptr getelementptr inbounds (i8, ptr @pool, i64 392), align 8
  store i64 %units, ptr getelementptr inbounds (i8, ptr @pool, i64 400), align 16
  store i64 %grain, ptr getelementptr inbounds (i8, ptr @pool, i64 408), align 8
  store atomic i64 0, ptr getelementptr inbounds (i8, ptr @pool, i64 128) release, align 64
  store atomic i64 0, ptr getelementptr inbounds (i8, ptr @pool, i64 64) seq_cst, align 64
  %3 = atomicrmw add ptr @pool, i32 1 seq_cst, align 64
  %4 = load atomic i64, ptr getelementptr inbounds (i8, ptr @pool, i64 256) seq_cst, align 64
  %cmp6.not = icmp eq i64 %4, 0
  br i1 %cmp6.not, label %if.end8, label %if.then7

if.then7:                                         ; preds = %if.end
  %call = tail call i64 (i64, ...) @syscall(i64 noundef 98, ptr noundef nonnull @pool, i32 noundef 129, i32 noundef 1000) #7
  br label %if.end8

if.end8:                                          ; preds = %if.then7, %if.end
  %5 = load ptr, ptr getelementptr inbounds (i8, ptr @pool, i64 384), align 64
  %6 = load ptr, ptr getelementptr inbounds (i8, ptr @pool, i64 392), align 8
  %7 = load i64, ptr getelementptr inbounds (i8, ptr @pool, i64 400), align 16
  %8 = load i64, ptr getelementptr inbounds (i8, ptr @pool, i64 408), align 8
  %9 = atomicrmw add ptr getelementptr inbounds (i8, ptr @pool, i64 128), i64 %8 acq_rel, align 64
  %cmp.not16.i = icmp slt i64 %9, %7
  br i1 %cmp.not16.i, label %if.end.i, label %take.exit

if.end.i:                                         ; preds = %if.end8, %if.end.i
  %10 = phi i64 [ %11, %if.end.i ], [ %9, %if.end8 ]
  %add.i = add nsw i64 %10, %8
  %cond.i = tail call i64 @llvm.smin.i64(i64 %add.i, i64 %7)
  tail call void %5(ptr noundef %6, i64 noundef %10, i64 noundef %cond.i) #7
  %11 = atomicrmw add ptr getelementptr inbounds (i8, ptr @pool, i64 128), i64 %8 acq_rel, align 64
  %cmp.not.i = icmp slt i64 %11, %7
  br i1 %cmp.not.i, label %if.end.i, label %take.exit

take.exit:                                        ; preds = %if.end.i, %if.end8
  %12 = atomicrmw or ptr getelementptr inbounds (i8, ptr @pool, i64 64), i64 4611686018427387904 acq_rel, align 64
  %13 = load atomic i64, ptr getelementptr inbounds (i8, ptr @pool, i64 64) acquire, align 64
  %cmp12.not22 = icmp eq i64 %13, 4611686018427387904
  br i1 %cmp12.not22, label %for.cond.cleanup, label %for.body

for.cond.cleanup:                                 ; preds = %for.inc, %take.exit
  store atomic i64 0, ptr getelementptr inbounds (i8, ptr @pool, i64 192) release, align 64
  br label %cleanup

for.body:                                         ; preds = %take.exit, %for.inc
  %waited.023 = phi i64 [ %inc, %for.inc ], [ 0, %take.exit ]
  tail call void @llvm.aarch64.hint(i32 1)
  %cmp13 = icmp ugt i64 %waited.023, 999
  br i1 %cmp13, label %if.then14, label %for.inc

if.then14:                                        ; preds = %for.body
  %call15 = tail call i32 @sched_yield() #7
  br label %for.inc

for.inc:                                          ; preds = %for.body, %if.then14
  %inc = add nuw nsw i64 %waited.023, 1
  %14 = load atomic i64, ptr getelementptr inbounds (i8, ptr @pool, i64 64) acquire, align 64
  %cmp12.not = icmp eq i64 %14, 4611686018427387904
  br i1 %cmp12.not, label %for.cond.cleanup, label %for.body

cleanup:                                          ; preds = %for.cond.cleanup, %if.then
  ret void
}

declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture) #1

declare i64 @syscall(i64 noundef, ...) local_unnamed_addr #2

declare void @llvm.aarch64.hint(i32) #3

declare i32 @sched_yield() local_unnamed_addr #2

declare void @llvm.lifetime.end.p0(i64 immarg, ptr nocapture) #1

define range(i64 -2147483648, 2147483648) i64 @NAME_start(i64 noundef %number) local_unnamed_addr #0 {
entry:
  %thread = alloca i64, align 8
  %attributes = alloca %union.pthread_attr_t, align 8
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %thread) #7
  call void @llvm.lifetime.start.p0(i64 64, ptr nonnull %attributes) #7
  %call = call i32 @pthread_attr_init(ptr noundef nonnull %attributes) #7
  %call1 = call i32 @pthread_attr_setstacksize(ptr noundef nonnull %attributes, i64 noundef 4194304) #7
  %call2 = call i32 @pthread_attr_setdetachstate(ptr noundef nonnull %attributes, i32 noundef 1) #7
  %0 = inttoptr i64 %number to ptr
  %call3 = call i32 @pthread_create(ptr noundef nonnull %thread, ptr noundef nonnull %attributes, ptr noundef nonnull @work, ptr noundef %0) #7
  %conv = sext i32 %call3 to i64
  %call4 = call i32 @pthread_attr_destroy(ptr noundef nonnull %attributes) #7
  call void @llvm.lifetime.end.p0(i64 64, ptr nonnull %attributes) #7
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %thread) #7
  ret i64 %conv
}

declare i32 @pthread_attr_init(ptr noundef) local_unnamed_addr #2

declare i32 @pthread_attr_setstacksize(ptr noundef, i64 noundef) local_unnamed_addr #2

declare i32 @pthread_attr_setdetachstate(ptr noundef, i32 noundef) local_unnamed_addr #2

declare i32 @pthread_create(ptr noundef, ptr noundef, ptr noundef, ptr noundef) local_unnamed_addr #2

define internal noundef ptr @work(ptr noundef %number) #4 {
entry:
  %0 = load atomic i32, ptr @pool seq_cst, align 64
  %1 = ptrtoint ptr %number to i64
  br label %for.cond

for.cond:                                         ; preds = %if.end12, %entry
  %turn.0 = phi i64 [ 0, %entry ], [ %inc, %if.end12 ]
  %seen.0 = phi i32 [ %0, %entry ], [ %seen.1, %if.end12 ]
  %2 = load atomic i32, ptr @pool seq_cst, align 64
  %cmp.not = icmp eq i32 %2, %seen.0
  br i1 %cmp.not, label %if.else, label %if.then

if.then:                                          ; preds = %for.cond
  %3 = load atomic i64, ptr getelementptr inbounds (i8, ptr @pool, i64 320) monotonic, align 64
  %cmp3 = icmp sgt i64 %3, %1
  br i1 %cmp3, label %if.then4, label %if.end12

if.then4:                                         ; preds = %if.then
  %4 = load atomic i64, ptr getelementptr inbounds (i8, ptr @pool, i64 64) seq_cst, align 64
  br label %do.body.i

do.body.i:                                        ; preds = %do.cond.i, %if.then4
  %count.0.i = phi i64 [ %4, %if.then4 ], [ %7, %do.cond.i ]
  %cmp.i = icmp sgt i64 %count.0.i, 4611686018427387903
  br i1 %cmp.i, label %if.end12, label %do.cond.i

do.cond.i:                                        ; preds = %do.body.i
  %add.i = add nsw i64 %count.0.i, 1
  %5 = cmpxchg ptr getelementptr inbounds (i8, ptr @pool, i64 64), i64 %count.0.i, i64 %add.i seq_cst seq_cst, align 64
  %6 = extractvalue { i64, i1 } %5, 1
  %7 = extractvalue { i64, i1 } %5, 0
  br i1 %6, label %do.end.i, label %do.body.i

do.end.i:                                         ; preds = %do.cond.i
  %8 = load ptr, ptr getelementptr inbounds (i8, ptr @pool, i64 384), align 64
  %9 = load ptr, ptr getelementptr inbounds (i8, ptr @pool, i64 392), align 8
  %10 = load i64, ptr getelementptr inbounds (i8, ptr @pool, i64 400), align 16
  %11 = load i64, ptr getelementptr inbounds (i8, ptr @pool, i64 408), align 8
  %12 = atomicrmw add ptr getelementptr inbounds (i8, ptr @pool, i64 128), i64 %11 acq_rel, align 64
  %cmp.not16.i.i = icmp slt i64 %12, %10
  br i1 %cmp.not16.i.i, label %if.end.i.i, label %take.exit.i

if.end.i.i:                                       ; preds = %do.end.i, %if.end.i.i
  %13 = phi i64 [ %14, %if.end.i.i ], [ %12, %do.end.i ]
  %add.i.i = add nsw i64 %13, %11
  %cond.i.i = tail call i64 @llvm.smin.i64(i64 %add.i.i, i64 %10)
  tail call void %8(ptr noundef %9, i64 noundef %13, i64 noundef %cond.i.i) #7
  %14 = atomicrmw add ptr getelementptr inbounds (i8, ptr @pool, i64 128), i64 %11 acq_rel, align 64
  %cmp.not.i.i = icmp slt i64 %14, %10
  br i1 %cmp.not.i.i, label %if.end.i.i, label %take.exit.i

take.exit.i:                                      ; preds = %if.end.i.i, %do.end.i
  %15 = atomicrmw sub ptr getelementptr inbounds (i8, ptr @pool, i64 64), i64 1 acq_rel, align 64
  br label %if.end12

if.else:                                          ; preds = %for.cond
  %cmp5 = icmp slt i64 %turn.0, 4000
  br i1 %cmp5, label %if.then6, label %if.else7

if.then6:                                         ; preds = %if.else
  tail call void @llvm.aarch64.hint(i32 1)
  br label %if.end12

if.else7:                                         ; preds = %if.else
  %16 = atomicrmw add ptr getelementptr inbounds (i8, ptr @pool, i64 256), i64 1 seq_cst, align 64
  %call = tail call i64 (i64, ...) @syscall(i64 noundef 98, ptr noundef nonnull @pool, i32 noundef 128, i32 noundef %seen.0, ptr noundef null) #7
  %17 = atomicrmw sub ptr getelementptr inbounds (i8, ptr @pool, i64 256), i64 1 seq_cst, align 64
  br label %if.end12

if.end12:                                         ; preds = %do.body.i, %take.exit.i, %if.then6, %if.else7, %if.then
  %turn.1 = phi i64 [ -1, %if.then ], [ %turn.0, %if.then6 ], [ -1, %if.else7 ], [ -1, %take.exit.i ], [ -1, %do.body.i ]
  %seen.1 = phi i32 [ %2, %if.then ], [ %seen.0, %if.then6 ], [ %seen.0, %if.else7 ], [ %2, %take.exit.i ], [ %2, %do.body.i ]
  %inc = add nsw i64 %turn.1, 1
  br label %for.cond
}

declare i32 @pthread_attr_destroy(ptr noundef) local_unnamed_addr #2

define void @NAME_limit(i64 noundef %threads) local_unnamed_addr #5 {
entry:
  store atomic i64 %threads, ptr getelementptr inbounds (i8, ptr @pool, i64 320) seq_cst, align 64
  ret void
}

define void @NAME_forget() local_unnamed_addr #5 {
entry:
  store atomic i64 0, ptr getelementptr inbounds (i8, ptr @pool, i64 320) seq_cst, align 64
  store atomic i64 0, ptr getelementptr inbounds (i8, ptr @pool, i64 256) seq_cst, align 64
  store atomic i64 0, ptr getelementptr inbounds (i8, ptr @pool, i64 192) seq_cst, align 64
  store atomic i64 0, ptr getelementptr inbounds (i8, ptr @pool, i64 64) seq_cst, align 64
  ret void
}

declare i64 @llvm.smin.i64(i64, i64) #6

attributes #0 = { nounwind }
attributes #1 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { nounwind }
attributes #3 = { mustprogress nocallback nofree nosync nounwind willreturn }
attributes #4 = { noreturn nounwind }
attributes #5 = { mustprogress nofree norecurse nounwind willreturn memory(readwrite, argmem: none, inaccessiblemem: none) }
attributes #6 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #7 = { nounwind }
