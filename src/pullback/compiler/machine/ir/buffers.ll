; Made from c/buffers.c by `make native`.

%struct.PyDataMem_Handler = type { [127 x i8], i8, %struct.PyDataMemAllocator }
%struct.PyDataMemAllocator = type { ptr, ptr, ptr, ptr, ptr }
%struct.anon = type { i64, i64, i64, i64, [64 x ptr] }

@handler = internal global %struct.PyDataMem_Handler { [127 x i8] c"pullback\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00", i8 1, %struct.PyDataMemAllocator { ptr null, ptr @new_memory, ptr @new_zeros, ptr @moved, ptr @let_go } }, align 8
@.str = private unnamed_addr constant [12 x i8] c"mem_handler\00", align 1
@kept = internal global %struct.anon zeroinitializer, align 8
@pullback_numpy = external local_unnamed_addr global ptr, align 8

define ptr @NAME_allocator() local_unnamed_addr #0 {
entry:
  %call = tail call ptr @PyCapsule_New(ptr noundef nonnull @handler, ptr noundef nonnull @.str, ptr noundef null) #10
  ret ptr %call
}

declare ptr @PyCapsule_New(ptr noundef, ptr noundef, ptr noundef) local_unnamed_addr #1

define i64 @NAME_waiting() local_unnamed_addr #2 {
entry:
  %0 = load i64, ptr getelementptr inbounds (i8, ptr @kept, i64 16), align 8
  ret i64 %0
}

define void @NAME_release() local_unnamed_addr #0 {
entry:
  %0 = load i64, ptr getelementptr inbounds (i8, ptr @kept, i64 24), align 8
  %cmp1 = icmp sgt i64 %0, 0
  br i1 %cmp1, label %while.body, label %while.end

while.body:                                       ; preds = %entry, %while.body
  %1 = phi i64 [ %5, %while.body ], [ %0, %entry ]
  %sub = add nsw i64 %1, -1
  %arrayidx.i = getelementptr inbounds [64 x ptr], ptr getelementptr inbounds (i8, ptr @kept, i64 32), i64 0, i64 %sub
  %2 = load ptr, ptr %arrayidx.i, align 8
  store i64 %sub, ptr getelementptr inbounds (i8, ptr @kept, i64 24), align 8
  %3 = load i64, ptr %2, align 64
  %4 = load i64, ptr getelementptr inbounds (i8, ptr @kept, i64 16), align 8
  %sub.i = sub i64 %4, %3
  store i64 %sub.i, ptr getelementptr inbounds (i8, ptr @kept, i64 16), align 8
  tail call void @free(ptr noundef %2) #10
  %5 = load i64, ptr getelementptr inbounds (i8, ptr @kept, i64 24), align 8
  %cmp = icmp sgt i64 %5, 0
  br i1 %cmp, label %while.body, label %while.end

while.end:                                        ; preds = %while.body, %entry
  ret void
}

declare void @free(ptr allocptr nocapture noundef) local_unnamed_addr #3

define void @NAME_limit(i64 noundef %bytes) local_unnamed_addr #0 {
entry:
  store i64 %bytes, ptr getelementptr inbounds (i8, ptr @kept, i64 8), align 8
  %0 = load i64, ptr getelementptr inbounds (i8, ptr @kept, i64 24), align 8
  %cmp1.i = icmp sgt i64 %0, 0
  br i1 %cmp1.i, label %while.body.i, label %release.exit

while.body.i:                                     ; preds = %entry, %while.body.i
  %1 = phi i64 [ %5, %while.body.i ], [ %0, %entry ]
  %sub.i = add nsw i64 %1, -1
  %arrayidx.i.i = getelementptr inbounds [64 x ptr], ptr getelementptr inbounds (i8, ptr @kept, i64 32), i64 0, i64 %sub.i
  %2 = load ptr, ptr %arrayidx.i.i, align 8
  store i64 %sub.i, ptr getelementptr inbounds (i8, ptr @kept, i64 24), align 8
  %3 = load i64, ptr %2, align 64
  %4 = load i64, ptr getelementptr inbounds (i8, ptr @kept, i64 16), align 8
  %sub.i.i = sub i64 %4, %3
  store i64 %sub.i.i, ptr getelementptr inbounds (i8, ptr @kept, i64 16), align 8
  tail call void @free(ptr noundef %2) #10
  %5 = load i64, ptr getelementptr inbounds (i8, ptr @kept, i64 24), align 8
  %cmp.i = icmp sgt i64 %5, 0
  br i1 %cmp.i, label %while.body.i, label %release.exit

release.exit:                                     ; preds = %while.body.i, %entry
  ret void
}

define ptr @NAME_within(ptr nocapture noundef readonly %self, ptr noundef %args, i64 noundef %count) local_unnamed_addr #0 {
entry:
  %kind = alloca ptr, align 8
  %value = alloca ptr, align 8
  %trace = alloca ptr, align 8
  %data.i = getelementptr inbounds i8, ptr %self, i64 16
  %0 = load ptr, ptr %data.i, align 8
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %kind) #10
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %value) #10
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %trace) #10
  %1 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx = getelementptr inbounds i8, ptr %1, i64 2440
  %2 = load ptr, ptr %arrayidx, align 8
  %call1 = tail call ptr %2() #10
  %cmp = icmp eq ptr %call1, null
  br i1 %cmp, label %cleanup, label %if.end

if.end:                                           ; preds = %entry
  %3 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx2 = getelementptr inbounds i8, ptr %3, i64 2432
  %4 = load ptr, ptr %arrayidx2, align 8
  %allocator = getelementptr inbounds i8, ptr %0, i64 8
  %5 = load ptr, ptr %allocator, align 8
  %call3 = tail call ptr %4(ptr noundef %5) #10
  %cmp4.not = icmp eq ptr %call3, null
  br i1 %cmp4.not, label %if.then9, label %if.end7

if.end7:                                          ; preds = %if.end
  %6 = load ptr, ptr %0, align 8
  %call6 = tail call ptr @PyObject_Vectorcall(ptr noundef %6, ptr noundef %args, i64 noundef %count, ptr noundef null) #10
  %cmp8 = icmp eq ptr %call6, null
  br i1 %cmp8, label %if.then9, label %if.end10

if.then9:                                         ; preds = %if.end, %if.end7
  call void @PyErr_Fetch(ptr noundef nonnull %kind, ptr noundef nonnull %value, ptr noundef nonnull %trace) #10
  br label %if.end10

if.end10:                                         ; preds = %if.then9, %if.end7
  %cmp843 = phi i1 [ true, %if.then9 ], [ false, %if.end7 ]
  %result.041 = phi ptr [ null, %if.then9 ], [ %call6, %if.end7 ]
  %7 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx11 = getelementptr inbounds i8, ptr %7, i64 2432
  %8 = load ptr, ptr %arrayidx11, align 8
  %call12 = call ptr %8(ptr noundef nonnull %call1) #10
  %cmp13 = icmp eq ptr %call12, null
  br i1 %cmp13, label %if.then14, label %if.end20

if.then14:                                        ; preds = %if.end10
  br i1 %cmp843, label %if.end17, label %if.then16

if.then16:                                        ; preds = %if.then14
  call void @PyErr_Fetch(ptr noundef nonnull %kind, ptr noundef nonnull %value, ptr noundef nonnull %trace) #10
  br label %if.end17

if.end17:                                         ; preds = %if.then16, %if.then14
  call void @Py_DecRef(ptr noundef %result.041) #10
  %9 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx18 = getelementptr inbounds i8, ptr %9, i64 2432
  %10 = load ptr, ptr %arrayidx18, align 8
  %call19 = call ptr %10(ptr noundef nonnull %call1) #10
  br label %if.end20

if.end20:                                         ; preds = %if.end17, %if.end10
  %result.1 = phi ptr [ null, %if.end17 ], [ %result.041, %if.end10 ]
  %ours.0 = phi ptr [ %call19, %if.end17 ], [ %call12, %if.end10 ]
  call void @Py_DecRef(ptr noundef %ours.0) #10
  call void @Py_DecRef(ptr noundef %call3) #10
  call void @Py_DecRef(ptr noundef nonnull %call1) #10
  %cmp21 = icmp eq ptr %result.1, null
  br i1 %cmp21, label %if.then22, label %cleanup

if.then22:                                        ; preds = %if.end20
  %11 = load ptr, ptr %kind, align 8
  %12 = load ptr, ptr %value, align 8
  %13 = load ptr, ptr %trace, align 8
  call void @PyErr_Restore(ptr noundef %11, ptr noundef %12, ptr noundef %13) #10
  br label %cleanup

cleanup:                                          ; preds = %if.end20, %if.then22, %entry
  %retval.0 = phi ptr [ null, %entry ], [ null, %if.then22 ], [ %result.1, %if.end20 ]
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %trace) #10
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %value) #10
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %kind) #10
  ret ptr %retval.0
}

declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture) #4

declare ptr @PyObject_Vectorcall(ptr noundef, ptr noundef, i64 noundef, ptr noundef) local_unnamed_addr #1

declare void @PyErr_Fetch(ptr noundef, ptr noundef, ptr noundef) local_unnamed_addr #1

declare void @Py_DecRef(ptr noundef) local_unnamed_addr #1

declare void @PyErr_Restore(ptr noundef, ptr noundef, ptr noundef) local_unnamed_addr #1

declare void @llvm.lifetime.end.p0(i64 immarg, ptr nocapture) #4

define internal ptr @new_memory(ptr nocapture readnone %context, i64 noundef %size) #0 {
entry:
  %cmp.i = icmp ult i64 %size, 65536
  br i1 %cmp.i, label %lor.lhs.false, label %lor.lhs.false.i

lor.lhs.false.i:                                  ; preds = %entry
  %0 = cmpxchg ptr @kept, i64 0, i64 1 acq_rel monotonic, align 8
  %1 = extractvalue { i64, i1 } %0, 1
  br i1 %1, label %if.end.i, label %if.end

if.end.i:                                         ; preds = %lor.lhs.false.i
  %2 = load i64, ptr getelementptr inbounds (i8, ptr @kept, i64 24), align 8
  %cmp119.i = icmp sgt i64 %2, 0
  br i1 %cmp119.i, label %for.body.lr.ph.i, label %found.exit.thread30

for.body.lr.ph.i:                                 ; preds = %if.end.i
  %div17.i = lshr i64 %size, 2
  %add.i = add i64 %div17.i, %size
  br label %for.body.i

for.body.i:                                       ; preds = %if.end8.i, %for.body.lr.ph.i
  %k.0.in20.i = phi i64 [ %2, %for.body.lr.ph.i ], [ %k.021.i, %if.end8.i ]
  %k.021.i = add nsw i64 %k.0.in20.i, -1
  %arrayidx.i = getelementptr inbounds [64 x ptr], ptr getelementptr inbounds (i8, ptr @kept, i64 32), i64 0, i64 %k.021.i
  %3 = load ptr, ptr %arrayidx.i, align 8
  %4 = load i64, ptr %3, align 64
  %cmp4.not.i = icmp ult i64 %4, %size
  %cmp5.not.i = icmp ugt i64 %4, %add.i
  %or.cond.i = or i1 %cmp4.not.i, %cmp5.not.i
  br i1 %or.cond.i, label %if.end8.i, label %if.then

if.end8.i:                                        ; preds = %for.body.i
  %cmp1.i = icmp ugt i64 %k.0.in20.i, 1
  br i1 %cmp1.i, label %for.body.i, label %found.exit.thread30

found.exit.thread30:                              ; preds = %if.end8.i, %if.end.i
  store atomic i64 0, ptr @kept release, align 8
  br label %if.end

if.then:                                          ; preds = %for.body.i
  %arrayidx.i.le = getelementptr inbounds [64 x ptr], ptr getelementptr inbounds (i8, ptr @kept, i64 32), i64 0, i64 %k.021.i
  %dec.i.i = add nsw i64 %2, -1
  store i64 %dec.i.i, ptr getelementptr inbounds (i8, ptr @kept, i64 24), align 8
  %5 = load i64, ptr %3, align 64
  %6 = load i64, ptr getelementptr inbounds (i8, ptr @kept, i64 16), align 8
  %sub.i.i = sub i64 %6, %5
  store i64 %sub.i.i, ptr getelementptr inbounds (i8, ptr @kept, i64 16), align 8
  %add.ptr2.i.i = getelementptr inbounds i8, ptr %arrayidx.i.le, i64 8
  %sub3.i.i = sub i64 %2, %k.0.in20.i
  %mul.i.i = shl i64 %sub3.i.i, 3
  tail call void @llvm.memmove.p0.p0.i64(ptr nonnull align 8 %arrayidx.i.le, ptr nonnull align 8 %add.ptr2.i.i, i64 %mul.i.i, i1 false)
  store atomic i64 0, ptr @kept release, align 8
  %data = getelementptr inbounds i8, ptr %3, i64 64
  br label %cleanup14

if.end:                                           ; preds = %lor.lhs.false.i, %found.exit.thread30
  %cmp1 = icmp ugt i64 %size, -65
  br i1 %cmp1, label %cleanup14, label %lor.lhs.false

lor.lhs.false:                                    ; preds = %entry, %if.end
  %add35 = add nuw i64 %size, 64
  %call2 = tail call noalias ptr @malloc(i64 noundef %add35) #11
  %cmp3 = icmp eq ptr %call2, null
  br i1 %cmp3, label %cleanup14, label %if.end5

if.end5:                                          ; preds = %lor.lhs.false
  store i64 %size, ptr %call2, align 64
  %cmp6 = icmp ugt i64 %size, 4194303
  br i1 %cmp6, label %if.then7, label %if.end11

if.then7:                                         ; preds = %if.end5
  %7 = ptrtoint ptr %call2 to i64
  %sub = add i64 %7, 4095
  %and = and i64 %sub, -4096
  %8 = inttoptr i64 %and to ptr
  %sub.ptr.sub.neg = add i64 %add35, %7
  %sub9 = sub i64 %sub.ptr.sub.neg, %and
  %call10 = tail call i32 @madvise(ptr noundef %8, i64 noundef %sub9, i32 noundef 14) #10
  br label %if.end11

if.end11:                                         ; preds = %if.then7, %if.end5
  %data12 = getelementptr inbounds i8, ptr %call2, i64 64
  br label %cleanup14

cleanup14:                                        ; preds = %if.end11, %lor.lhs.false, %if.end, %if.then
  %retval.1 = phi ptr [ %data, %if.then ], [ %data12, %if.end11 ], [ null, %lor.lhs.false ], [ null, %if.end ]
  ret ptr %retval.1
}

define internal ptr @new_zeros(ptr nocapture readnone %context, i64 noundef %count, i64 noundef %width) #0 {
entry:
  %0 = tail call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %count, i64 %width)
  %1 = extractvalue { i64, i1 } %0, 1
  %2 = extractvalue { i64, i1 } %0, 0
  br i1 %1, label %cleanup, label %if.end

if.end:                                           ; preds = %entry
  %call = tail call ptr @new_memory(ptr poison, i64 noundef %2)
  %cmp = icmp eq ptr %call, null
  br i1 %cmp, label %cleanup, label %cond.false

cond.false:                                       ; preds = %if.end
  tail call void @llvm.memset.p0.i64(ptr nonnull align 1 %call, i8 0, i64 %2, i1 false)
  br label %cleanup

cleanup:                                          ; preds = %cond.false, %if.end, %entry
  %retval.0 = phi ptr [ null, %entry ], [ %call, %cond.false ], [ null, %if.end ]
  ret ptr %retval.0
}

define internal ptr @moved(ptr nocapture readnone %context, ptr noundef %data, i64 noundef %size) #0 {
entry:
  %cmp = icmp eq ptr %data, null
  br i1 %cmp, label %if.then, label %if.end

if.then:                                          ; preds = %entry
  %call = tail call ptr @new_memory(ptr poison, i64 noundef %size)
  br label %return

if.end:                                           ; preds = %entry
  %add.ptr = getelementptr inbounds i8, ptr %data, i64 -64
  %0 = load i64, ptr %add.ptr, align 64
  %cmp2.not = icmp ult i64 %0, %size
  br i1 %cmp2.not, label %if.end4, label %return

if.end4:                                          ; preds = %if.end
  %call5 = tail call ptr @new_memory(ptr poison, i64 noundef %size)
  %cmp6.not = icmp eq ptr %call5, null
  br i1 %cmp6.not, label %return, label %if.end.i

if.end.i:                                         ; preds = %if.end4
  tail call void @llvm.memcpy.p0.p0.i64(ptr nonnull align 1 %call5, ptr nonnull align 1 %data, i64 %0, i1 false)
  %1 = load i64, ptr %add.ptr, align 64
  %cmp1.i = icmp ult i64 %1, 65536
  %2 = load i64, ptr getelementptr inbounds (i8, ptr @kept, i64 8), align 8
  %cmp3.i = icmp ugt i64 %1, %2
  %or.cond.i = select i1 %cmp1.i, i1 true, i1 %cmp3.i
  br i1 %or.cond.i, label %if.then5.i, label %lor.lhs.false4.i

lor.lhs.false4.i:                                 ; preds = %if.end.i
  %3 = cmpxchg ptr @kept, i64 0, i64 1 acq_rel monotonic, align 8
  %4 = extractvalue { i64, i1 } %3, 1
  br i1 %4, label %while.cond.preheader.i, label %if.then5.i

while.cond.preheader.i:                           ; preds = %lor.lhs.false4.i
  %5 = load i64, ptr getelementptr inbounds (i8, ptr @kept, i64 24), align 8
  %cmp721.i = icmp sgt i64 %5, 0
  br i1 %cmp721.i, label %land.rhs.i, label %while.end.i

if.then5.i:                                       ; preds = %lor.lhs.false4.i, %if.end.i
  tail call void @free(ptr noundef nonnull %add.ptr) #10
  br label %return

land.rhs.i:                                       ; preds = %while.cond.preheader.i, %while.body.i
  %6 = phi i64 [ %11, %while.body.i ], [ %5, %while.cond.preheader.i ]
  %cmp8.i = icmp ugt i64 %6, 63
  %.pre.i = load i64, ptr getelementptr inbounds (i8, ptr @kept, i64 16), align 8
  br i1 %cmp8.i, label %while.body.i, label %lor.rhs.i

lor.rhs.i:                                        ; preds = %land.rhs.i
  %7 = load i64, ptr %add.ptr, align 64
  %add.i = add i64 %7, %.pre.i
  %8 = load i64, ptr getelementptr inbounds (i8, ptr @kept, i64 8), align 8
  %cmp10.i = icmp ugt i64 %add.i, %8
  br i1 %cmp10.i, label %while.body.i, label %while.end.i

while.body.i:                                     ; preds = %lor.rhs.i, %land.rhs.i
  %9 = load ptr, ptr getelementptr inbounds (i8, ptr @kept, i64 32), align 8
  %dec.i.i = add nsw i64 %6, -1
  store i64 %dec.i.i, ptr getelementptr inbounds (i8, ptr @kept, i64 24), align 8
  %10 = load i64, ptr %9, align 64
  %sub.i.i = sub i64 %.pre.i, %10
  store i64 %sub.i.i, ptr getelementptr inbounds (i8, ptr @kept, i64 16), align 8
  %mul.i.i = shl i64 %dec.i.i, 3
  tail call void @llvm.memmove.p0.p0.i64(ptr nonnull align 8 getelementptr inbounds (i8, ptr @kept, i64 32), ptr nonnull align 8 getelementptr inbounds (i8, ptr @kept, i64 40), i64 %mul.i.i, i1 false)
  tail call void @free(ptr noundef %9) #10
  %11 = load i64, ptr getelementptr inbounds (i8, ptr @kept, i64 24), align 8
  %cmp7.i = icmp sgt i64 %11, 0
  br i1 %cmp7.i, label %land.rhs.i, label %while.end.i

while.end.i:                                      ; preds = %while.body.i, %lor.rhs.i, %while.cond.preheader.i
  %.lcssa.i = phi i64 [ %5, %while.cond.preheader.i ], [ %6, %lor.rhs.i ], [ %11, %while.body.i ]
  %inc.i = add nsw i64 %.lcssa.i, 1
  store i64 %inc.i, ptr getelementptr inbounds (i8, ptr @kept, i64 24), align 8
  %arrayidx.i = getelementptr inbounds [64 x ptr], ptr getelementptr inbounds (i8, ptr @kept, i64 32), i64 0, i64 %.lcssa.i
  store ptr %add.ptr, ptr %arrayidx.i, align 8
  %12 = load i64, ptr %add.ptr, align 64
  %13 = load i64, ptr getelementptr inbounds (i8, ptr @kept, i64 16), align 8
  %add13.i = add i64 %13, %12
  store i64 %add13.i, ptr getelementptr inbounds (i8, ptr @kept, i64 16), align 8
  store atomic i64 0, ptr @kept release, align 8
  br label %return

return:                                           ; preds = %while.end.i, %if.then5.i, %if.end, %if.end4, %if.then
  %retval.1 = phi ptr [ %call, %if.then ], [ %data, %if.end ], [ null, %if.end4 ], [ %call5, %if.then5.i ], [ %call5, %while.end.i ]
  ret ptr %retval.1
}

define internal void @let_go(ptr nocapture readnone %context, ptr noundef %data, i64 %size) #0 {
entry:
  %cmp = icmp eq ptr %data, null
  br i1 %cmp, label %cleanup.cont, label %if.end

if.end:                                           ; preds = %entry
  %add.ptr = getelementptr inbounds i8, ptr %data, i64 -64
  %0 = load i64, ptr %add.ptr, align 64
  %cmp1 = icmp ult i64 %0, 65536
  %1 = load i64, ptr getelementptr inbounds (i8, ptr @kept, i64 8), align 8
  %cmp3 = icmp ugt i64 %0, %1
  %or.cond = select i1 %cmp1, i1 true, i1 %cmp3
  br i1 %or.cond, label %if.then5, label %lor.lhs.false4

lor.lhs.false4:                                   ; preds = %if.end
  %2 = cmpxchg ptr @kept, i64 0, i64 1 acq_rel monotonic, align 8
  %3 = extractvalue { i64, i1 } %2, 1
  br i1 %3, label %while.cond.preheader, label %if.then5

while.cond.preheader:                             ; preds = %lor.lhs.false4
  %4 = load i64, ptr getelementptr inbounds (i8, ptr @kept, i64 24), align 8
  %cmp721 = icmp sgt i64 %4, 0
  br i1 %cmp721, label %land.rhs, label %while.end

if.then5:                                         ; preds = %lor.lhs.false4, %if.end
  tail call void @free(ptr noundef nonnull %add.ptr) #10
  br label %cleanup.cont

land.rhs:                                         ; preds = %while.cond.preheader, %while.body
  %5 = phi i64 [ %10, %while.body ], [ %4, %while.cond.preheader ]
  %cmp8 = icmp ugt i64 %5, 63
  %.pre = load i64, ptr getelementptr inbounds (i8, ptr @kept, i64 16), align 8
  br i1 %cmp8, label %while.body, label %lor.rhs

lor.rhs:                                          ; preds = %land.rhs
  %6 = load i64, ptr %add.ptr, align 64
  %add = add i64 %6, %.pre
  %7 = load i64, ptr getelementptr inbounds (i8, ptr @kept, i64 8), align 8
  %cmp10 = icmp ugt i64 %add, %7
  br i1 %cmp10, label %while.body, label %while.end

while.body:                                       ; preds = %land.rhs, %lor.rhs
  %8 = load ptr, ptr getelementptr inbounds (i8, ptr @kept, i64 32), align 8
  %dec.i = add nsw i64 %5, -1
  store i64 %dec.i, ptr getelementptr inbounds (i8, ptr @kept, i64 24), align 8
  %9 = load i64, ptr %8, align 64
  %sub.i = sub i64 %.pre, %9
  store i64 %sub.i, ptr getelementptr inbounds (i8, ptr @kept, i64 16), align 8
  %mul.i = shl i64 %dec.i, 3
  tail call void @llvm.memmove.p0.p0.i64(ptr nonnull align 8 getelementptr inbounds (i8, ptr @kept, i64 32), ptr nonnull align 8 getelementptr inbounds (i8, ptr @kept, i64 40), i64 %mul.i, i1 false)
  tail call void @free(ptr noundef %8) #10
  %10 = load i64, ptr getelementptr inbounds (i8, ptr @kept, i64 24), align 8
  %cmp7 = icmp sgt i64 %10, 0
  br i1 %cmp7, label %land.rhs, label %while.end

while.end:                                        ; preds = %lor.rhs, %while.body, %while.cond.preheader
  %.lcssa = phi i64 [ %4, %while.cond.preheader ], [ %10, %while.body ], [ %5, %lor.rhs ]
  %inc = add nsw i64 %.lcssa, 1
  store i64 %inc, ptr getelementptr inbounds (i8, ptr @kept, i64 24), align 8
  %arrayidx = getelementptr inbounds [64 x ptr], ptr getelementptr inbounds (i8, ptr @kept, i64 32), i64 0, i64 %.lcssa
  store ptr %add.ptr, ptr %arrayidx, align 8
  %11 = load i64, ptr %add.ptr, align 64
  %12 = load i64, ptr getelementptr inbounds (i8, ptr @kept, i64 16), align 8
  %add13 = add i64 %12, %11
  store i64 %add13, ptr getelementptr inbounds (i8, ptr @kept, i64 16), align 8
  store atomic i64 0, ptr @kept release, align 8
  br label %cleanup.cont

cleanup.cont:                                     ; preds = %if.then5, %while.end, %entry
  ret void
}

declare noalias noundef ptr @malloc(i64 noundef) local_unnamed_addr #5

declare i32 @madvise(ptr noundef, i64 noundef, i32 noundef) local_unnamed_addr #6

declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64) #7

declare void @llvm.memset.p0.i64(ptr nocapture writeonly, i8, i64, i1 immarg) #8

declare void @llvm.memcpy.p0.p0.i64(ptr noalias nocapture writeonly, ptr noalias nocapture readonly, i64, i1 immarg) #9

declare void @llvm.memmove.p0.p0.i64(ptr nocapture writeonly, ptr nocapture readonly, i64, i1 immarg) #9

attributes #0 = { nounwind }
attributes #1 = { nounwind }
attributes #2 = { mustprogress nofree norecurse nosync nounwind willreturn memory(read, argmem: none, inaccessiblemem: none) }
attributes #3 = { mustprogress nounwind willreturn allockind("free") memory(argmem: readwrite, inaccessiblemem: readwrite) }
attributes #4 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #5 = { mustprogress nofree nounwind willreturn allockind("alloc,uninitialized") allocsize(0) memory(inaccessiblemem: readwrite) }
attributes #6 = { nounwind }
attributes #7 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #8 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #9 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite) }
attributes #10 = { nounwind }
attributes #11 = { nounwind allocsize(0) }
