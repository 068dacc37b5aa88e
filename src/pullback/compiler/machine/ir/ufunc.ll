; Made from c/ufunc.c by `make native`.

%struct.task = type { i64, i64, ptr, ptr, ptr }

define void @NAME_loop(ptr noundef %args, ptr noundef %lengths, ptr noundef %steps, ptr noundef %record) local_unnamed_addr #0 {
entry:
  %task = alloca %struct.task, align 8
  %0 = load i64, ptr %lengths, align 8
  %sub = add nsw i64 %0, 1023
  %div = sdiv i64 %sub, 1024
  %other = getelementptr inbounds i8, ptr %record, i64 56
  %1 = load ptr, ptr %other, align 8
  %cmp.not = icmp eq ptr %1, null
  br i1 %cmp.not, label %if.end, label %land.lhs.true

land.lhs.true:                                    ; preds = %entry
  %least = getelementptr inbounds i8, ptr %record, i64 16
  %2 = load i64, ptr %least, align 8
  %cmp1 = icmp slt i64 %0, %2
  br i1 %cmp1, label %if.then, label %lor.lhs.false

lor.lhs.false:                                    ; preds = %land.lhs.true
  %count.i = getelementptr inbounds i8, ptr %record, i64 8
  %3 = load i64, ptr %count.i, align 8
  %cmp.not9.i = icmp slt i64 %3, 1
  br i1 %cmp.not9.i, label %if.end, label %for.body.lr.ph.i

for.body.lr.ph.i:                                 ; preds = %lor.lhs.false
  %widths.i.i = getelementptr inbounds i8, ptr %record, i64 80
  br label %for.body.i

for.body.i:                                       ; preds = %for.inc.i, %for.body.lr.ph.i
  %cmp.not11.i = phi i1 [ false, %for.body.lr.ph.i ], [ %cmp.not.i, %for.inc.i ]
  %k.010.i = phi i64 [ 0, %for.body.lr.ph.i ], [ %inc.pre-phi.i, %for.inc.i ]
  %arrayidx.i.i = getelementptr inbounds i64, ptr %steps, i64 %k.010.i
  %4 = load i64, ptr %arrayidx.i.i, align 8
  %arrayidx1.i.i = getelementptr inbounds [0 x i64], ptr %widths.i.i, i64 0, i64 %k.010.i
  %5 = load i64, ptr %arrayidx1.i.i, align 8
  %cmp.i.i = icmp eq i64 %4, %5
  br i1 %cmp.i.i, label %for.body.for.inc_crit_edge.i, label %lor.rhs.i.i

for.body.for.inc_crit_edge.i:                     ; preds = %for.body.i
  %.pre.i = add nuw nsw i64 %k.010.i, 1
  br label %for.inc.i

lor.rhs.i.i:                                      ; preds = %for.body.i
  %cmp.i.i.i = icmp eq i64 %4, 0
  %add.i.i.i = add nuw nsw i64 %k.010.i, 1
  %cmp1.i.i.not.i = icmp slt i64 %add.i.i.i, %3
  %or.cond.i = select i1 %cmp.i.i.i, i1 %cmp1.i.i.not.i, i1 false
  br i1 %or.cond.i, label %for.inc.i, label %are_simple.exit

for.inc.i:                                        ; preds = %lor.rhs.i.i, %for.body.for.inc_crit_edge.i
  %inc.pre-phi.i = phi i64 [ %.pre.i, %for.body.for.inc_crit_edge.i ], [ %add.i.i.i, %lor.rhs.i.i ]
  %cmp.not.i = icmp sge i64 %inc.pre-phi.i, %3
  %exitcond.i = icmp eq i64 %inc.pre-phi.i, %3
  br i1 %exitcond.i, label %are_simple.exit, label %for.body.i

are_simple.exit:                                  ; preds = %lor.rhs.i.i, %for.inc.i
  %cmp.not.lcssa.ph.i = phi i1 [ %cmp.not.i, %for.inc.i ], [ %cmp.not11.i, %lor.rhs.i.i ]
  br i1 %cmp.not.lcssa.ph.i, label %if.end, label %if.then

if.then:                                          ; preds = %are_simple.exit, %land.lhs.true
  %its = getelementptr inbounds i8, ptr %record, i64 64
  %6 = load ptr, ptr %its, align 8
  tail call void %1(ptr noundef %args, ptr noundef nonnull %lengths, ptr noundef %steps, ptr noundef %6) #5
  br label %cleanup

if.end:                                           ; preds = %lor.lhs.false, %are_simple.exit, %entry
  call void @llvm.lifetime.start.p0(i64 40, ptr nonnull %task) #5
  store i64 %0, ptr %task, align 8
  %raised = getelementptr inbounds i8, ptr %task, i64 8
  store i64 0, ptr %raised, align 8
  %record4 = getelementptr inbounds i8, ptr %task, i64 16
  store ptr %record, ptr %record4, align 8
  %args5 = getelementptr inbounds i8, ptr %task, i64 24
  store ptr %args, ptr %args5, align 8
  %steps6 = getelementptr inbounds i8, ptr %task, i64 32
  store ptr %steps, ptr %steps6, align 8
  %reports = getelementptr inbounds i8, ptr %record, i64 40
  %7 = load i64, ptr %reports, align 8
  %cmp7 = icmp eq i64 %7, 0
  br i1 %cmp7, label %if.then8, label %if.end12

if.then8:                                         ; preds = %if.end
  %flags = getelementptr inbounds i8, ptr %record, i64 48
  %8 = load i64, ptr %flags, align 8
  %conv = trunc i64 %8 to i32
  %call9 = tail call i32 @fetestexcept(i32 noundef %conv) #5
  %conv10 = sext i32 %call9 to i64
  store atomic i64 %conv10, ptr %raised seq_cst, align 8
  br label %if.end12

if.end12:                                         ; preds = %if.then8, %if.end
  %parallel = getelementptr inbounds i8, ptr %record, i64 72
  %9 = load ptr, ptr %parallel, align 8
  %cmp13.not = icmp eq ptr %9, null
  br i1 %cmp13.not, label %if.else, label %land.lhs.true15

land.lhs.true15:                                  ; preds = %if.end12
  %alone = getelementptr inbounds i8, ptr %record, i64 24
  %10 = load i64, ptr %alone, align 8
  %cmp16.not = icmp slt i64 %0, %10
  br i1 %cmp16.not, label %if.else, label %if.then18

if.then18:                                        ; preds = %land.lhs.true15
  %grain = getelementptr inbounds i8, ptr %record, i64 32
  %11 = load i64, ptr %grain, align 8
  call void %9(ptr noundef nonnull @share, ptr noundef nonnull %task, i64 noundef %div, i64 noundef %11) #5
  br label %if.end20

if.else:                                          ; preds = %land.lhs.true15, %if.end12
  call void @share(ptr noundef nonnull %task, i64 noundef 0, i64 noundef %div)
  br label %if.end20

if.end20:                                         ; preds = %if.else, %if.then18
  %atomic-load = load atomic i64, ptr %raised seq_cst, align 8
  %cmp22.not = icmp eq i64 %atomic-load, 0
  br i1 %cmp22.not, label %if.end29, label %if.then24

if.then24:                                        ; preds = %if.end20
  %atomic-load26 = load atomic i64, ptr %raised seq_cst, align 8
  %conv27 = trunc i64 %atomic-load26 to i32
  %call28 = call i32 @feraiseexcept(i32 noundef %conv27) #5
  br label %if.end29

if.end29:                                         ; preds = %if.then24, %if.end20
  call void @llvm.lifetime.end.p0(i64 40, ptr nonnull %task) #5
  br label %cleanup

cleanup:                                          ; preds = %if.end29, %if.then
  ret void
}

declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture) #1

declare i32 @fetestexcept(i32 noundef) local_unnamed_addr #2

define internal void @share(ptr nocapture noundef %args, i64 noundef %begin, i64 noundef %end) #0 {
entry:
  %environment = alloca [64 x i8], align 16
  %record1 = getelementptr inbounds i8, ptr %args, i64 16
  %0 = load ptr, ptr %record1, align 8
  %steps2 = getelementptr inbounds i8, ptr %args, i64 32
  %1 = load ptr, ptr %steps2, align 8
  %widths3 = getelementptr inbounds i8, ptr %0, i64 80
  %count4 = getelementptr inbounds i8, ptr %0, i64 8
  %2 = load i64, ptr %count4, align 8
  %sub = add nsw i64 %2, -1
  %mul = shl i64 %2, 13
  %3 = alloca i8, i64 %mul, align 64
  %mul5 = shl i64 %2, 3
  %4 = alloca i8, i64 %mul5, align 16
  %5 = alloca i8, i64 %mul5, align 16
  %6 = alloca i8, i64 %mul5, align 16
  call void @llvm.lifetime.start.p0(i64 64, ptr nonnull %environment) #5
  %reports = getelementptr inbounds i8, ptr %0, i64 40
  %7 = load i64, ptr %reports, align 8
  %cmp = icmp eq i64 %7, 0
  br i1 %cmp, label %if.then, label %if.else

if.then:                                          ; preds = %entry
  %flags = getelementptr inbounds i8, ptr %0, i64 48
  %8 = load i64, ptr %flags, align 8
  %conv = trunc i64 %8 to i32
  %call = tail call i32 @feclearexcept(i32 noundef %conv) #5
  br label %if.end

if.else:                                          ; preds = %entry
  %call9 = call i32 @fegetenv(ptr noundef nonnull %environment) #5
  br label %if.end

if.end:                                           ; preds = %if.else, %if.then
  %cmp10287 = icmp sgt i64 %2, 0
  br i1 %cmp10287, label %for.body.lr.ph, label %for.cond.cleanup

for.body.lr.ph:                                   ; preds = %if.end
  %args16 = getelementptr inbounds i8, ptr %args, i64 24
  br label %for.body

for.cond.cleanup:                                 ; preds = %for.inc, %if.end
  %9 = load i64, ptr %count4, align 8
  %cmp.not9.i = icmp slt i64 %9, 1
  br i1 %cmp.not9.i, label %are_simple.exit.thread, label %for.body.i

are_simple.exit.thread:                           ; preds = %for.cond.cleanup
  %sub33262 = sub nsw i64 %end, %begin
  br label %12

for.body.i:                                       ; preds = %for.cond.cleanup, %for.inc.i
  %cmp.not11.i = phi i1 [ %cmp.not.i, %for.inc.i ], [ false, %for.cond.cleanup ]
  %k.010.i = phi i64 [ %inc.pre-phi.i, %for.inc.i ], [ 0, %for.cond.cleanup ]
  %arrayidx.i.i = getelementptr inbounds i64, ptr %1, i64 %k.010.i
  %10 = load i64, ptr %arrayidx.i.i, align 8
  %arrayidx1.i.i = getelementptr inbounds [0 x i64], ptr %widths3, i64 0, i64 %k.010.i
  %11 = load i64, ptr %arrayidx1.i.i, align 8
  %cmp.i.i = icmp eq i64 %10, %11
  br i1 %cmp.i.i, label %for.body.for.inc_crit_edge.i, label %lor.rhs.i.i

for.body.for.inc_crit_edge.i:                     ; preds = %for.body.i
  %.pre.i = add nuw nsw i64 %k.010.i, 1
  br label %for.inc.i

lor.rhs.i.i:                                      ; preds = %for.body.i
  %cmp.i.i.i = icmp eq i64 %10, 0
  %add.i.i.i = add nuw nsw i64 %k.010.i, 1
  %cmp1.i.i.not.i = icmp slt i64 %add.i.i.i, %9
  %or.cond.i = select i1 %cmp.i.i.i, i1 %cmp1.i.i.not.i, i1 false
  br i1 %or.cond.i, label %for.inc.i, label %are_simple.exit

for.inc.i:                                        ; preds = %lor.rhs.i.i, %for.body.for.inc_crit_edge.i
  %inc.pre-phi.i = phi i64 [ %.pre.i, %for.body.for.inc_crit_edge.i ], [ %add.i.i.i, %lor.rhs.i.i ]
  %cmp.not.i = icmp sge i64 %inc.pre-phi.i, %9
  %exitcond.i = icmp eq i64 %inc.pre-phi.i, %9
  br i1 %exitcond.i, label %are_simple.exit, label %for.body.i

are_simple.exit:                                  ; preds = %lor.rhs.i.i, %for.inc.i
  %cmp.not.lcssa.ph.i = phi i1 [ %cmp.not.i, %for.inc.i ], [ %cmp.not11.i, %lor.rhs.i.i ]
  %cmp.not.lcssa.ph.i.fr = freeze i1 %cmp.not.lcssa.ph.i
  %sub33 = sub nsw i64 %end, %begin
  %spec.select = select i1 %cmp.not.lcssa.ph.i.fr, i64 %sub33, i64 1
  br label %12

12:                                               ; preds = %are_simple.exit, %are_simple.exit.thread
  %13 = phi i64 [ %sub33262, %are_simple.exit.thread ], [ %spec.select, %are_simple.exit ]
  %cmp38292 = icmp slt i64 %begin, %end
  br i1 %cmp38292, label %for.body41.lr.ph, label %for.cond.cleanup40

for.body41.lr.ph:                                 ; preds = %12
  %mul45 = shl nsw i64 %13, 10
  %arrayidx.i201 = getelementptr inbounds i64, ptr %1, i64 %sub
  %arrayidx1.i = getelementptr inbounds [0 x i64], ptr %widths3, i64 0, i64 %sub
  %arrayidx87 = getelementptr inbounds ptr, ptr %4, i64 %sub
  %arrayidx92 = getelementptr inbounds [8192 x i8], ptr %3, i64 %sub
  br label %for.body41

for.body:                                         ; preds = %for.body.lr.ph, %for.inc
  %k.0288 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %for.inc ]
  %arrayidx.i = getelementptr inbounds i64, ptr %1, i64 %k.0288
  %14 = load i64, ptr %arrayidx.i, align 8
  %cmp.i = icmp eq i64 %14, 0
  br i1 %cmp.i, label %is_still.exit, label %is_still.exit.thread

is_still.exit.thread:                             ; preds = %for.body
  %arrayidx268 = getelementptr inbounds i64, ptr %6, i64 %k.0288
  store i64 1, ptr %arrayidx268, align 8
  br label %cond.end

is_still.exit:                                    ; preds = %for.body
  %add.i = add nuw nsw i64 %k.0288, 1
  %15 = load i64, ptr %count4, align 8
  %cmp1.i = icmp sge i64 %add.i, %15
  %conv13 = zext i1 %cmp1.i to i64
  %arrayidx = getelementptr inbounds i64, ptr %6, i64 %k.0288
  store i64 %conv13, ptr %arrayidx, align 8
  br i1 %cmp1.i, label %cond.end, label %if.then23

cond.end:                                         ; preds = %is_still.exit, %is_still.exit.thread
  %16 = load ptr, ptr %args16, align 8
  %arrayidx17 = getelementptr inbounds ptr, ptr %16, i64 %k.0288
  %17 = load ptr, ptr %arrayidx17, align 8
  %arrayidx20 = getelementptr inbounds ptr, ptr %4, i64 %k.0288
  store ptr %17, ptr %arrayidx20, align 8
  br label %for.inc

if.then23:                                        ; preds = %is_still.exit
  %arrayidx18 = getelementptr inbounds [8192 x i8], ptr %3, i64 %k.0288
  %arrayidx20304 = getelementptr inbounds ptr, ptr %4, i64 %k.0288
  store ptr %arrayidx18, ptr %arrayidx20304, align 8
  %arrayidx24 = getelementptr inbounds [8192 x i8], ptr %3, i64 %k.0288
  %18 = load ptr, ptr %args16, align 8
  %arrayidx27 = getelementptr inbounds ptr, ptr %18, i64 %k.0288
  %19 = load ptr, ptr %arrayidx27, align 8
  %arrayidx28 = getelementptr inbounds i64, ptr %widths3, i64 %k.0288
  %20 = load i64, ptr %arrayidx28, align 8
  call void @llvm.memcpy.p0.p0.i64(ptr nonnull align 64 %arrayidx24, ptr readonly align 1 %19, i64 %20, i1 false)
  %mul.i = shl nsw i64 %20, 10
  %cmp9.i = icmp sgt i64 %mul.i, %20
  br i1 %cmp9.i, label %for.body.i199, label %for.inc

for.body.i199:                                    ; preds = %if.then23, %for.body.i199
  %filled.010.i = phi i64 [ %mul1.i, %for.body.i199 ], [ %20, %if.then23 ]
  %add.ptr.i = getelementptr inbounds i8, ptr %arrayidx24, i64 %filled.010.i
  call void @llvm.memcpy.p0.p0.i64(ptr nonnull align 1 %add.ptr.i, ptr nonnull align 64 %arrayidx24, i64 %filled.010.i, i1 false)
  %mul1.i = shl nsw i64 %filled.010.i, 1
  %cmp.i200 = icmp slt i64 %mul1.i, %mul.i
  br i1 %cmp.i200, label %for.body.i199, label %for.inc

for.inc:                                          ; preds = %for.body.i199, %cond.end, %if.then23
  %inc = add nuw nsw i64 %k.0288, 1
  %exitcond.not = icmp eq i64 %inc, %2
  br i1 %exitcond.not, label %for.cond.cleanup, label %for.body

for.cond.cleanup40:                               ; preds = %if.end96, %12
  %bits.0.lcssa = phi i64 [ 0, %12 ], [ %or, %if.end96 ]
  %21 = load i64, ptr %reports, align 8
  %cmp100 = icmp eq i64 %21, 0
  br i1 %cmp100, label %if.then102, label %if.else107

for.body41:                                       ; preds = %for.body41.lr.ph, %if.end96
  %bits.0294 = phi i64 [ 0, %for.body41.lr.ph ], [ %or, %if.end96 ]
  %unit.0293 = phi i64 [ %begin, %for.body41.lr.ph ], [ %add, %if.end96 ]
  %mul42 = shl nsw i64 %unit.0293, 10
  %22 = load i64, ptr %args, align 8
  %sub43 = sub nsw i64 %22, %mul42
  %cond52 = call i64 @llvm.smin.i64(i64 %sub43, i64 %mul45)
  br i1 %cmp10287, label %for.body58.lr.ph, label %for.cond.cleanup57

for.body58.lr.ph:                                 ; preds = %for.body41
  %cmp3272.i = icmp sgt i64 %cond52, 0
  br label %for.body58

for.cond.cleanup57:                               ; preds = %for.inc80, %for.body41
  %23 = load ptr, ptr %0, align 8
  %call83 = call i64 %23(ptr noundef nonnull %5, ptr noundef nonnull %6, i64 noundef %cond52) #5
  %or = or i64 %call83, %bits.0294
  %24 = load i64, ptr %arrayidx.i201, align 8
  %25 = load i64, ptr %arrayidx1.i, align 8
  %cmp.i202 = icmp eq i64 %24, %25
  br i1 %cmp.i202, label %if.end96, label %lor.rhs.i

lor.rhs.i:                                        ; preds = %for.cond.cleanup57
  %cmp.i.i203 = icmp eq i64 %24, 0
  br i1 %cmp.i.i203, label %is_simple.exit, label %if.then86

is_simple.exit:                                   ; preds = %lor.rhs.i
  %26 = load i64, ptr %count4, align 8
  %cmp1.i.i.not = icmp slt i64 %2, %26
  br i1 %cmp1.i.i.not, label %if.end96, label %if.then86

for.body58:                                       ; preds = %for.body58.lr.ph, %for.inc80
  %k53.0290 = phi i64 [ 0, %for.body58.lr.ph ], [ %inc81, %for.inc80 ]
  %arrayidx59 = getelementptr inbounds ptr, ptr %4, i64 %k53.0290
  %27 = load ptr, ptr %arrayidx59, align 8
  %arrayidx60 = getelementptr inbounds i64, ptr %1, i64 %k53.0290
  %28 = load i64, ptr %arrayidx60, align 8
  %mul61 = mul nsw i64 %28, %mul42
  %add.ptr = getelementptr inbounds i8, ptr %27, i64 %mul61
  %arrayidx62 = getelementptr inbounds ptr, ptr %5, i64 %k53.0290
  store ptr %add.ptr, ptr %arrayidx62, align 8
  %arrayidx1.i206 = getelementptr inbounds [0 x i64], ptr %widths3, i64 0, i64 %k53.0290
  %29 = load i64, ptr %arrayidx1.i206, align 8
  %cmp.i207 = icmp eq i64 %28, %29
  br i1 %cmp.i207, label %for.inc80, label %lor.rhs.i208

lor.rhs.i208:                                     ; preds = %for.body58
  %cmp.i.i209 = icmp eq i64 %28, 0
  br i1 %cmp.i.i209, label %is_simple.exit214, label %if.then65

is_simple.exit214:                                ; preds = %lor.rhs.i208
  %add.i.i = add nuw nsw i64 %k53.0290, 1
  %30 = load i64, ptr %count4, align 8
  %cmp1.i.i213.not = icmp slt i64 %add.i.i, %30
  br i1 %cmp1.i.i213.not, label %for.inc80, label %if.then65

if.then65:                                        ; preds = %lor.rhs.i208, %is_simple.exit214
  %cmp66.not = icmp eq i64 %k53.0290, %sub
  br i1 %cmp66.not, label %if.end75, label %if.then68

if.then68:                                        ; preds = %if.then65
  %arrayidx69 = getelementptr inbounds [8192 x i8], ptr %3, i64 %k53.0290
  switch i64 %29, label %if.end75 [
    i64 1, label %for.cond.preheader.i
    i64 2, label %for.cond5.preheader.i
    i64 4, label %for.cond18.preheader.i
    i64 8, label %for.cond31.preheader.i
  ]

for.cond31.preheader.i:                           ; preds = %if.then68
  br i1 %cmp3272.i, label %for.body34.i, label %if.end75

for.cond18.preheader.i:                           ; preds = %if.then68
  br i1 %cmp3272.i, label %for.body21.i, label %if.end75

for.cond5.preheader.i:                            ; preds = %if.then68
  br i1 %cmp3272.i, label %for.body8.i, label %if.end75

for.cond.preheader.i:                             ; preds = %if.then68
  br i1 %cmp3272.i, label %for.body.i215, label %if.end75

for.body.i215:                                    ; preds = %for.cond.preheader.i, %for.body.i215
  %k.079.i = phi i64 [ %inc.i, %for.body.i215 ], [ 0, %for.cond.preheader.i ]
  %add.ptr.i217 = getelementptr inbounds i8, ptr %arrayidx69, i64 %k.079.i
  %mul1.i218 = mul nsw i64 %k.079.i, %28
  %add.ptr2.i = getelementptr inbounds i8, ptr %add.ptr, i64 %mul1.i218
  %31 = load i8, ptr %add.ptr2.i, align 1
  store i8 %31, ptr %add.ptr.i217, align 1
  %inc.i = add nuw nsw i64 %k.079.i, 1
  %exitcond85.not.i = icmp eq i64 %inc.i, %cond52
  br i1 %exitcond85.not.i, label %if.end75, label %for.body.i215

for.body8.i:                                      ; preds = %for.cond5.preheader.i, %for.body8.i
  %k4.077.i = phi i64 [ %inc14.i, %for.body8.i ], [ 0, %for.cond5.preheader.i ]
  %mul9.i = shl nuw nsw i64 %k4.077.i, 1
  %add.ptr10.i = getelementptr inbounds i8, ptr %arrayidx69, i64 %mul9.i
  %mul11.i = mul nsw i64 %k4.077.i, %28
  %add.ptr12.i = getelementptr inbounds i8, ptr %add.ptr, i64 %mul11.i
  %32 = load i16, ptr %add.ptr12.i, align 1
  store i16 %32, ptr %add.ptr10.i, align 2
  %inc14.i = add nuw nsw i64 %k4.077.i, 1
  %exitcond84.not.i = icmp eq i64 %inc14.i, %cond52
  br i1 %exitcond84.not.i, label %if.end75, label %for.body8.i

for.body21.i:                                     ; preds = %for.cond18.preheader.i, %for.body21.i
  %k17.075.i = phi i64 [ %inc27.i, %for.body21.i ], [ 0, %for.cond18.preheader.i ]
  %mul22.i = shl nsw i64 %k17.075.i, 2
  %add.ptr23.i = getelementptr inbounds i8, ptr %arrayidx69, i64 %mul22.i
  %mul24.i = mul nsw i64 %k17.075.i, %28
  %add.ptr25.i = getelementptr inbounds i8, ptr %add.ptr, i64 %mul24.i
  %33 = load i32, ptr %add.ptr25.i, align 1
  store i32 %33, ptr %add.ptr23.i, align 4
  %inc27.i = add nuw nsw i64 %k17.075.i, 1
  %exitcond83.not.i = icmp eq i64 %inc27.i, %cond52
  br i1 %exitcond83.not.i, label %if.end75, label %for.body21.i

for.body34.i:                                     ; preds = %for.cond31.preheader.i, %for.body34.i
  %k30.073.i = phi i64 [ %inc40.i, %for.body34.i ], [ 0, %for.cond31.preheader.i ]
  %mul35.i = shl nsw i64 %k30.073.i, 3
  %add.ptr36.i = getelementptr inbounds i8, ptr %arrayidx69, i64 %mul35.i
  %mul37.i = mul nsw i64 %k30.073.i, %28
  %add.ptr38.i = getelementptr inbounds i8, ptr %add.ptr, i64 %mul37.i
  %34 = load i64, ptr %add.ptr38.i, align 1
  store i64 %34, ptr %add.ptr36.i, align 8
  %inc40.i = add nuw nsw i64 %k30.073.i, 1
  %exitcond.not.i = icmp eq i64 %inc40.i, %cond52
  br i1 %exitcond.not.i, label %if.end75, label %for.body34.i

if.end75:                                         ; preds = %for.body34.i, %for.body21.i, %for.body8.i, %for.body.i215, %for.cond.preheader.i, %for.cond5.preheader.i, %for.cond18.preheader.i, %for.cond31.preheader.i, %if.then68, %if.then65
  %arrayidx76 = getelementptr inbounds [8192 x i8], ptr %3, i64 %k53.0290
  store ptr %arrayidx76, ptr %arrayidx62, align 8
  br label %for.inc80

for.inc80:                                        ; preds = %for.body58, %is_simple.exit214, %if.end75
  %inc81 = add nuw nsw i64 %k53.0290, 1
  %exitcond301.not = icmp eq i64 %inc81, %2
  br i1 %exitcond301.not, label %for.cond.cleanup57, label %for.body58

if.then86:                                        ; preds = %lor.rhs.i, %is_simple.exit
  %35 = load ptr, ptr %arrayidx87, align 8
  %mul89 = mul nsw i64 %24, %mul42
  %add.ptr90 = getelementptr inbounds i8, ptr %35, i64 %mul89
  switch i64 %25, label %if.end96 [
    i64 1, label %for.cond.preheader.i249
    i64 2, label %for.cond5.preheader.i239
    i64 4, label %for.cond18.preheader.i229
    i64 8, label %for.cond31.preheader.i219
  ]

for.cond31.preheader.i219:                        ; preds = %if.then86
  %cmp3272.i220 = icmp sgt i64 %cond52, 0
  br i1 %cmp3272.i220, label %for.body34.i221, label %if.end96

for.cond18.preheader.i229:                        ; preds = %if.then86
  %cmp1974.i230 = icmp sgt i64 %cond52, 0
  br i1 %cmp1974.i230, label %for.body21.i231, label %if.end96

for.cond5.preheader.i239:                         ; preds = %if.then86
  %cmp676.i240 = icmp sgt i64 %cond52, 0
  br i1 %cmp676.i240, label %for.body8.i241, label %if.end96

for.cond.preheader.i249:                          ; preds = %if.then86
  %cmp78.i250 = icmp sgt i64 %cond52, 0
  br i1 %cmp78.i250, label %for.body.i251, label %if.end96

for.body.i251:                                    ; preds = %for.cond.preheader.i249, %for.body.i251
  %k.079.i252 = phi i64 [ %inc.i257, %for.body.i251 ], [ 0, %for.cond.preheader.i249 ]
  %mul.i253 = mul nsw i64 %k.079.i252, %24
  %add.ptr.i254 = getelementptr inbounds i8, ptr %add.ptr90, i64 %mul.i253
  %add.ptr2.i256 = getelementptr inbounds i8, ptr %arrayidx92, i64 %k.079.i252
  %36 = load i8, ptr %add.ptr2.i256, align 1
  store i8 %36, ptr %add.ptr.i254, align 1
  %inc.i257 = add nuw nsw i64 %k.079.i252, 1
  %exitcond85.not.i258 = icmp eq i64 %inc.i257, %cond52
  br i1 %exitcond85.not.i258, label %if.end96, label %for.body.i251

for.body8.i241:                                   ; preds = %for.cond5.preheader.i239, %for.body8.i241
  %k4.077.i242 = phi i64 [ %inc14.i247, %for.body8.i241 ], [ 0, %for.cond5.preheader.i239 ]
  %mul9.i243 = mul nsw i64 %k4.077.i242, %24
  %add.ptr10.i244 = getelementptr inbounds i8, ptr %add.ptr90, i64 %mul9.i243
  %mul11.i245 = shl nuw nsw i64 %k4.077.i242, 1
  %add.ptr12.i246 = getelementptr inbounds i8, ptr %arrayidx92, i64 %mul11.i245
  %37 = load i16, ptr %add.ptr12.i246, align 2
  store i16 %37, ptr %add.ptr10.i244, align 1
  %inc14.i247 = add nuw nsw i64 %k4.077.i242, 1
  %exitcond84.not.i248 = icmp eq i64 %inc14.i247, %cond52
  br i1 %exitcond84.not.i248, label %if.end96, label %for.body8.i241

for.body21.i231:                                  ; preds = %for.cond18.preheader.i229, %for.body21.i231
  %k17.075.i232 = phi i64 [ %inc27.i237, %for.body21.i231 ], [ 0, %for.cond18.preheader.i229 ]
  %mul22.i233 = mul nsw i64 %k17.075.i232, %24
  %add.ptr23.i234 = getelementptr inbounds i8, ptr %add.ptr90, i64 %mul22.i233
  %mul24.i235 = shl nsw i64 %k17.075.i232, 2
  %add.ptr25.i236 = getelementptr inbounds i8, ptr %arrayidx92, i64 %mul24.i235
  %38 = load i32, ptr %add.ptr25.i236, align 4
  store i32 %38, ptr %add.ptr23.i234, align 1
  %inc27.i237 = add nuw nsw i64 %k17.075.i232, 1
  %exitcond83.not.i238 = icmp eq i64 %inc27.i237, %cond52
  br i1 %exitcond83.not.i238, label %if.end96, label %for.body21.i231

for.body34.i221:                                  ; preds = %for.cond31.preheader.i219, %for.body34.i221
  %k30.073.i222 = phi i64 [ %inc40.i227, %for.body34.i221 ], [ 0, %for.cond31.preheader.i219 ]
  %mul35.i223 = mul nsw i64 %k30.073.i222, %24
  %add.ptr36.i224 = getelementptr inbounds i8, ptr %add.ptr90, i64 %mul35.i223
  %mul37.i225 = shl nsw i64 %k30.073.i222, 3
  %add.ptr38.i226 = getelementptr inbounds i8, ptr %arrayidx92, i64 %mul37.i225
  %39 = load i64, ptr %add.ptr38.i226, align 8
  store i64 %39, ptr %add.ptr36.i224, align 1
  %inc40.i227 = add nuw nsw i64 %k30.073.i222, 1
  %exitcond.not.i228 = icmp eq i64 %inc40.i227, %cond52
  br i1 %exitcond.not.i228, label %if.end96, label %for.body34.i221

if.end96:                                         ; preds = %for.body34.i221, %for.body21.i231, %for.body8.i241, %for.body.i251, %for.cond.cleanup57, %for.cond.preheader.i249, %for.cond5.preheader.i239, %for.cond18.preheader.i229, %for.cond31.preheader.i219, %if.then86, %is_simple.exit
  %add = add nsw i64 %unit.0293, %13
  %cmp38 = icmp slt i64 %add, %end
  br i1 %cmp38, label %for.body41, label %for.cond.cleanup40

if.then102:                                       ; preds = %for.cond.cleanup40
  %flags103 = getelementptr inbounds i8, ptr %0, i64 48
  %40 = load i64, ptr %flags103, align 8
  %conv104 = trunc i64 %40 to i32
  %call105 = call i32 @fetestexcept(i32 noundef %conv104) #5
  %conv106 = sext i32 %call105 to i64
  br label %if.end110

if.else107:                                       ; preds = %for.cond.cleanup40
  %call109 = call i32 @fesetenv(ptr noundef nonnull %environment) #5
  br label %if.end110

if.end110:                                        ; preds = %if.else107, %if.then102
  %bits.1 = phi i64 [ %conv106, %if.then102 ], [ %bits.0.lcssa, %if.else107 ]
  %raised = getelementptr inbounds i8, ptr %args, i64 8
  %41 = atomicrmw or ptr %raised, i64 %bits.1 monotonic, align 8
  call void @llvm.lifetime.end.p0(i64 64, ptr nonnull %environment) #5
  ret void
}

declare i32 @feraiseexcept(i32 noundef) local_unnamed_addr #2

declare void @llvm.lifetime.end.p0(i64 immarg, ptr nocapture) #1

declare i32 @feclearexcept(i32 noundef) local_unnamed_addr #2

declare i32 @fegetenv(ptr noundef) local_unnamed_addr #2

declare i32 @fesetenv(ptr noundef) local_unnamed_addr #2

declare void @llvm.memcpy.p0.p0.i64(ptr noalias nocapture writeonly, ptr noalias nocapture readonly, i64, i1 immarg) #3

declare i64 @llvm.smin.i64(i64, i64) #4

attributes #0 = { nounwind }
attributes #1 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { nounwind }
attributes #3 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite) }
attributes #4 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #5 = { nounwind }
