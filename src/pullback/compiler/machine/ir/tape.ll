; Made from c/tape.c by `make native`.

%struct._typeobject = type opaque
%struct.anon = type { [256 x %struct.known_spec] }
%struct.known_spec = type { ptr, ptr, i64, [4 x i64] }
%struct.axes = type { [6 x %struct.axis] }
%struct.axis = type { i64, [3 x i64], i64 }
%struct.loop = type { [3 x ptr], %struct.operand_steps }
%struct.operand_steps = type { [3 x ptr] }
%struct.operands = type { [2 x %struct.operand] }
%struct.operand = type { ptr, ptr }
%struct.values = type { [10 x ptr], i32, i32, i32, i32, [6 x i64], %struct.steps, %struct.steps, %struct.steps, %struct.steps, %struct.steps, [2 x double], [2 x float] }
%struct.steps = type { [6 x i64] }
%struct.slots = type { i64, i64, i64 }
%struct.nodes = type { [2 x ptr] }

@pullback_numpy = external local_unnamed_addr global ptr, align 8
@PyFloat_Type = external global %struct._typeobject, align 1
@PyLong_Type = external global %struct._typeobject, align 1
@known_specs = internal global %struct.anon zeroinitializer, align 8
@PyExc_TypeError = external local_unnamed_addr global ptr, align 8
@PyBool_Type = external global %struct._typeobject, align 1
@PyUnicode_Type = external global %struct._typeobject, align 1

define ptr @NAME_call(ptr nocapture noundef readonly %self, ptr nocapture noundef readonly %args, i64 noundef %count) local_unnamed_addr #0 {
entry:
  %axes.i.i = alloca %struct.axes, align 8
  %all.i = alloca %struct.loop, align 8
  %modes.i = alloca ptr, align 8
  %given = alloca %struct.operands, align 8
  %values = alloca %struct.values, align 8
  %data.i = getelementptr inbounds i8, ptr %self, i64 16
  %0 = load ptr, ptr %data.i, align 8
  %1 = load ptr, ptr %0, align 8
  call void @llvm.lifetime.start.p0(i64 32, ptr nonnull %given) #8
  call void @llvm.lifetime.start.p0(i64 408, ptr nonnull %values) #8
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(32) %given, i8 0, i64 32, i1 false)
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(408) %values, i8 0, i64 408, i1 false)
  %operands = getelementptr inbounds i8, ptr %0, i64 24
  %2 = load i64, ptr %operands, align 8
  %cmp = icmp eq i64 %2, %count
  br i1 %cmp, label %cond.true, label %if.then

cond.true:                                        ; preds = %entry
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %modes.i) #8
  store ptr null, ptr %modes.i, align 8
  %modes1.i = getelementptr inbounds i8, ptr %1, i64 72
  %3 = load ptr, ptr %modes1.i, align 8
  %call.i = call i32 @PyContextVar_Get(ptr noundef %3, ptr noundef null, ptr noundef nonnull %modes.i) #8
  %cmp.i = icmp slt i32 %call.i, 0
  br i1 %cmp.i, label %cond.end.thread187, label %if.end.i

if.end.i:                                         ; preds = %cond.true
  %4 = load ptr, ptr %modes.i, align 8
  %usual_of_modes.i = getelementptr inbounds i8, ptr %1, i64 144
  %5 = load i64, ptr %usual_of_modes.i, align 8
  %add.ptr.i = getelementptr inbounds i8, ptr %4, i64 %5
  %6 = load ptr, ptr %add.ptr.i, align 8
  %switch_.i = getelementptr inbounds i8, ptr %1, i64 80
  %7 = load ptr, ptr %switch_.i, align 8
  %normal_of_switch.i = getelementptr inbounds i8, ptr %1, i64 136
  %8 = load i64, ptr %normal_of_switch.i, align 8
  %add.ptr2.i = getelementptr inbounds i8, ptr %7, i64 %8
  %9 = load ptr, ptr %add.ptr2.i, align 8
  %cmp3.i = icmp eq ptr %6, %9
  %within_of_modes.i = getelementptr inbounds i8, ptr %1, i64 152
  %10 = load i64, ptr %within_of_modes.i, align 8
  %add.ptr4.i = getelementptr inbounds i8, ptr %4, i64 %10
  %11 = load ptr, ptr %add.ptr4.i, align 8
  call void @Py_DecRef(ptr noundef %4) #8
  br i1 %cmp3.i, label %cond.end, label %cond.end.thread187

cond.end.thread187:                               ; preds = %if.end.i, %cond.true
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %modes.i) #8
  br label %if.then

cond.end:                                         ; preds = %if.end.i
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %modes.i) #8
  %cmp3.not = icmp eq ptr %11, null
  br i1 %cmp3.not, label %if.then, label %cond.true4

cond.true4:                                       ; preds = %cond.end
  %12 = load ptr, ptr %0, align 8
  %13 = load ptr, ptr %args, align 8
  %call.i.i = call fastcc i32 @is_usual(ptr noundef readonly %12, ptr noundef readonly %13, ptr noundef nonnull %11)
  %tobool.not.i.i = icmp eq i32 %call.i.i, 0
  br i1 %tobool.not.i.i, label %land.lhs.true.i, label %land.rhs.i.i

land.rhs.i.i:                                     ; preds = %cond.true4
  %data_of_tensor.i.i = getelementptr inbounds i8, ptr %12, i64 216
  %14 = load i64, ptr %data_of_tensor.i.i, align 8
  %add.ptr.i.i = getelementptr inbounds i8, ptr %13, i64 %14
  %15 = load ptr, ptr %add.ptr.i.i, align 8
  %flags.i.i.i.i = getelementptr inbounds i8, ptr %15, i64 64
  %16 = load i32, ptr %flags.i.i.i.i, align 8
  %and.i.i.i = and i32 %16, 256
  %tobool.not.i.i.i = icmp eq i32 %and.i.i.i, 0
  br i1 %tobool.not.i.i.i, label %land.lhs.true.i, label %if.end.i.i.i

if.end.i.i.i:                                     ; preds = %land.rhs.i.i
  %nd.i.i.i.i = getelementptr inbounds i8, ptr %15, i64 24
  %17 = load i32, ptr %nd.i.i.i.i, align 8
  %strides.i.i.i.i = getelementptr inbounds i8, ptr %15, i64 40
  %and.i.i.i.i = and i32 %16, 1
  %tobool3.not.i.i.i = icmp eq i32 %and.i.i.i.i, 0
  %cmp53.i.i.i = icmp sgt i32 %17, 0
  %or.cond5154.i.i.i = and i1 %tobool3.not.i.i.i, %cmp53.i.i.i
  br i1 %or.cond5154.i.i.i, label %for.body.lr.ph.i.i.i, label %if.end.i111

for.body.lr.ph.i.i.i:                             ; preds = %if.end.i.i.i
  %dimensions.i.i.i.i = getelementptr inbounds i8, ptr %15, i64 32
  %18 = load ptr, ptr %dimensions.i.i.i.i, align 8
  %19 = zext nneg i32 %17 to i64
  br label %for.body.i.i.i

for.body.i.i.i:                                   ; preds = %cleanup.i.i.i, %for.body.lr.ph.i.i.i
  %indvars.iv.i.i.i = phi i64 [ %19, %for.body.lr.ph.i.i.i ], [ %indvars.iv.next.i.i.i, %cleanup.i.i.i ]
  %inner.055.i.i.i = phi i64 [ 0, %for.body.lr.ph.i.i.i ], [ %inner.1.i.i.i, %cleanup.i.i.i ]
  %indvars.iv.next.i.i.i = add nsw i64 %indvars.iv.i.i.i, -1
  %arrayidx.i.i.i = getelementptr inbounds i64, ptr %18, i64 %indvars.iv.next.i.i.i
  %20 = load i64, ptr %arrayidx.i.i.i, align 8
  %cmp5.i.i.i = icmp eq i64 %20, 1
  br i1 %cmp5.i.i.i, label %if.end13.thread.i.i.i, label %cond.end.i.i.i

cond.end.i.i.i:                                   ; preds = %for.body.i.i.i
  %21 = load ptr, ptr %strides.i.i.i.i, align 8
  %arrayidx8.i.i.i = getelementptr inbounds i64, ptr %21, i64 %indvars.iv.next.i.i.i
  %22 = load i64, ptr %arrayidx8.i.i.i, align 8
  %.fr.i.i.i = freeze i64 %22
  %cmp9.i.i.i = icmp slt i64 %.fr.i.i.i, 0
  br i1 %cmp9.i.i.i, label %land.lhs.true.i, label %lor.lhs.false.i.i.i

lor.lhs.false.i.i.i:                              ; preds = %cond.end.i.i.i
  %cmp10.not.i.i.i = icmp ne i64 %.fr.i.i.i, 0
  %cmp11.i.i.i = icmp slt i64 %.fr.i.i.i, %inner.055.i.i.i
  %or.cond.i.i.i = select i1 %cmp10.not.i.i.i, i1 %cmp11.i.i.i, i1 false
  br i1 %or.cond.i.i.i, label %land.lhs.true.i, label %if.end13.i.i.i

if.end13.i.i.i:                                   ; preds = %lor.lhs.false.i.i.i
  %cmp14.i.i.i = icmp eq i64 %.fr.i.i.i, 0
  br i1 %cmp14.i.i.i, label %if.end13.thread.i.i.i, label %cleanup.i.i.i

if.end13.thread.i.i.i:                            ; preds = %if.end13.i.i.i, %for.body.i.i.i
  br label %cleanup.i.i.i

cleanup.i.i.i:                                    ; preds = %if.end13.thread.i.i.i, %if.end13.i.i.i
  %inner.1.i.i.i = phi i64 [ %inner.055.i.i.i, %if.end13.thread.i.i.i ], [ %.fr.i.i.i, %if.end13.i.i.i ]
  %cmp.i.i.i = icmp ugt i64 %indvars.iv.i.i.i, 1
  br i1 %cmp.i.i.i, label %for.body.i.i.i, label %if.end.i111

land.lhs.true.i:                                  ; preds = %lor.lhs.false.i.i.i, %cond.end.i.i.i, %land.rhs.i.i, %cond.true4
  %23 = load i64, ptr %operands, align 8
  %cmp2.i = icmp eq i64 %23, 1
  br i1 %cmp2.i, label %if.then, label %lor.lhs.false.i

lor.lhs.false.i:                                  ; preds = %land.lhs.true.i
  %arrayidx3.i = getelementptr inbounds i8, ptr %args, i64 8
  %24 = load ptr, ptr %arrayidx3.i, align 8
  %call.i105.i = call fastcc i32 @is_usual(ptr noundef readonly %12, ptr noundef readonly %24, ptr noundef nonnull %11)
  %tobool.not.i106.i = icmp eq i32 %call.i105.i, 0
  br i1 %tobool.not.i106.i, label %if.then, label %land.rhs.i107.i

land.rhs.i107.i:                                  ; preds = %lor.lhs.false.i
  %data_of_tensor.i108.i = getelementptr inbounds i8, ptr %12, i64 216
  %25 = load i64, ptr %data_of_tensor.i108.i, align 8
  %add.ptr.i109.i = getelementptr inbounds i8, ptr %24, i64 %25
  %26 = load ptr, ptr %add.ptr.i109.i, align 8
  %flags.i.i.i110.i = getelementptr inbounds i8, ptr %26, i64 64
  %27 = load i32, ptr %flags.i.i.i110.i, align 8
  %and.i.i111.i = and i32 %27, 256
  %tobool.not.i.i112.i = icmp eq i32 %and.i.i111.i, 0
  br i1 %tobool.not.i.i112.i, label %if.then, label %if.end.i.i113.i

if.end.i.i113.i:                                  ; preds = %land.rhs.i107.i
  %nd.i.i.i114.i = getelementptr inbounds i8, ptr %26, i64 24
  %28 = load i32, ptr %nd.i.i.i114.i, align 8
  %strides.i.i.i115.i = getelementptr inbounds i8, ptr %26, i64 40
  %and.i.i.i116.i = and i32 %27, 1
  %tobool3.not.i.i117.i = icmp eq i32 %and.i.i.i116.i, 0
  %cmp53.i.i118.i = icmp sgt i32 %28, 0
  %or.cond5154.i.i119.i = and i1 %tobool3.not.i.i117.i, %cmp53.i.i118.i
  br i1 %or.cond5154.i.i119.i, label %for.body.lr.ph.i.i121.i, label %if.end.i111

for.body.lr.ph.i.i121.i:                          ; preds = %if.end.i.i113.i
  %dimensions.i.i.i122.i = getelementptr inbounds i8, ptr %26, i64 32
  %29 = load ptr, ptr %dimensions.i.i.i122.i, align 8
  %30 = zext nneg i32 %28 to i64
  br label %for.body.i.i123.i

for.body.i.i123.i:                                ; preds = %cleanup.i.i139.i, %for.body.lr.ph.i.i121.i
  %indvars.iv.i.i124.i = phi i64 [ %30, %for.body.lr.ph.i.i121.i ], [ %indvars.iv.next.i.i126.i, %cleanup.i.i139.i ]
  %inner.055.i.i125.i = phi i64 [ 0, %for.body.lr.ph.i.i121.i ], [ %inner.1.i.i140.i, %cleanup.i.i139.i ]
  %indvars.iv.next.i.i126.i = add nsw i64 %indvars.iv.i.i124.i, -1
  %arrayidx.i.i127.i = getelementptr inbounds i64, ptr %29, i64 %indvars.iv.next.i.i126.i
  %31 = load i64, ptr %arrayidx.i.i127.i, align 8
  %cmp5.i.i128.i = icmp eq i64 %31, 1
  br i1 %cmp5.i.i128.i, label %if.end13.thread.i.i142.i, label %cond.end.i.i129.i

cond.end.i.i129.i:                                ; preds = %for.body.i.i123.i
  %32 = load ptr, ptr %strides.i.i.i115.i, align 8
  %arrayidx8.i.i130.i = getelementptr inbounds i64, ptr %32, i64 %indvars.iv.next.i.i126.i
  %33 = load i64, ptr %arrayidx8.i.i130.i, align 8
  %.fr.i.i131.i = freeze i64 %33
  %cmp9.i.i132.i = icmp slt i64 %.fr.i.i131.i, 0
  br i1 %cmp9.i.i132.i, label %if.then, label %lor.lhs.false.i.i133.i

lor.lhs.false.i.i133.i:                           ; preds = %cond.end.i.i129.i
  %cmp10.not.i.i134.i = icmp ne i64 %.fr.i.i131.i, 0
  %cmp11.i.i135.i = icmp slt i64 %.fr.i.i131.i, %inner.055.i.i125.i
  %or.cond.i.i136.i = select i1 %cmp10.not.i.i134.i, i1 %cmp11.i.i135.i, i1 false
  br i1 %or.cond.i.i136.i, label %if.then, label %if.end13.i.i137.i

if.end13.i.i137.i:                                ; preds = %lor.lhs.false.i.i133.i
  %cmp14.i.i138.i = icmp eq i64 %.fr.i.i131.i, 0
  br i1 %cmp14.i.i138.i, label %if.end13.thread.i.i142.i, label %cleanup.i.i139.i

if.end13.thread.i.i142.i:                         ; preds = %if.end13.i.i137.i, %for.body.i.i123.i
  br label %cleanup.i.i139.i

cleanup.i.i139.i:                                 ; preds = %if.end13.thread.i.i142.i, %if.end13.i.i137.i
  %inner.1.i.i140.i = phi i64 [ %inner.055.i.i125.i, %if.end13.thread.i.i142.i ], [ %.fr.i.i131.i, %if.end13.i.i137.i ]
  %cmp.i.i141.i = icmp ugt i64 %indvars.iv.i.i124.i, 1
  br i1 %cmp.i.i141.i, label %for.body.i.i123.i, label %if.end.i111

if.end.i111:                                      ; preds = %cleanup.i.i.i, %cleanup.i.i139.i, %if.end.i.i113.i, %if.end.i.i.i
  %34 = phi i64 [ %25, %if.end.i.i113.i ], [ %14, %if.end.i.i.i ], [ %25, %cleanup.i.i139.i ], [ %14, %cleanup.i.i.i ]
  %cond245.i = phi i32 [ 1, %if.end.i.i113.i ], [ 0, %if.end.i.i.i ], [ 1, %cleanup.i.i139.i ], [ 0, %cleanup.i.i.i ]
  %tobool.not243.i = phi i1 [ true, %if.end.i.i113.i ], [ false, %if.end.i.i.i ], [ true, %cleanup.i.i139.i ], [ false, %cleanup.i.i.i ]
  %land.ext.i241.i = phi i32 [ 0, %if.end.i.i113.i ], [ 1, %if.end.i.i.i ], [ 0, %cleanup.i.i139.i ], [ 1, %cleanup.i.i.i ]
  %idxprom.i = zext nneg i32 %cond245.i to i64
  %arrayidx6.i = getelementptr inbounds ptr, ptr %args, i64 %idxprom.i
  %35 = load ptr, ptr %arrayidx6.i, align 8
  %spec_of_tensor.i = getelementptr inbounds i8, ptr %12, i64 224
  %36 = load i64, ptr %spec_of_tensor.i, align 8
  %add.ptr.i112 = getelementptr inbounds i8, ptr %35, i64 %36
  %37 = load ptr, ptr %add.ptr.i112, align 8
  %data_of_tensor.i = getelementptr inbounds i8, ptr %12, i64 216
  %add.ptr7.i = getelementptr inbounds i8, ptr %35, i64 %34
  %38 = load ptr, ptr %add.ptr7.i, align 8
  %descr.i.i = getelementptr inbounds i8, ptr %38, i64 56
  %39 = load ptr, ptr %descr.i.i, align 8
  %type_num.i = getelementptr inbounds i8, ptr %39, i64 28
  %40 = load i32, ptr %type_num.i, align 4
  %is_plain_of_spec.i.i = getelementptr inbounds i8, ptr %12, i64 200
  %41 = load i64, ptr %is_plain_of_spec.i.i, align 8
  %add.ptr.i144.i = getelementptr inbounds i8, ptr %37, i64 %41
  %42 = load ptr, ptr %add.ptr.i144.i, align 8
  %true_.i.i = getelementptr inbounds i8, ptr %12, i64 40
  %43 = load ptr, ptr %true_.i.i, align 8
  %cmp.i.i = icmp eq ptr %42, %43
  %44 = add i32 %40, -11
  %or.cond.i.i = icmp ult i32 %44, 2
  %or.cond.i = select i1 %cmp.i.i, i1 %or.cond.i.i, i1 false
  br i1 %or.cond.i, label %land.lhs.true3.i.i, label %if.then

land.lhs.true3.i.i:                               ; preds = %if.end.i111
  %byteorder.i.i = getelementptr inbounds i8, ptr %39, i64 26
  %45 = load i8, ptr %byteorder.i.i, align 2
  %cmp5.not.i.i = icmp eq i8 %45, 62
  br i1 %cmp5.not.i.i, label %if.then, label %land.rhs.i146.i

land.rhs.i146.i:                                  ; preds = %land.lhs.true3.i.i
  %nd.i.i.i147.i = getelementptr inbounds i8, ptr %38, i64 24
  %46 = load i32, ptr %nd.i.i.i147.i, align 8
  %cmp6.i.i.i = icmp sgt i32 %46, 0
  br i1 %cmp6.i.i.i, label %for.body.lr.ph.i.i148.i, label %is_for_loops.exit.i

for.body.lr.ph.i.i148.i:                          ; preds = %land.rhs.i146.i
  %dimensions.i.i.i149.i = getelementptr inbounds i8, ptr %38, i64 32
  %47 = load ptr, ptr %dimensions.i.i.i149.i, align 8
  %wide.trip.count.i.i.i = zext nneg i32 %46 to i64
  br label %for.body.i.i150.i

for.body.i.i150.i:                                ; preds = %for.body.i.i150.i, %for.body.lr.ph.i.i148.i
  %indvars.iv.i.i151.i = phi i64 [ 0, %for.body.lr.ph.i.i148.i ], [ %indvars.iv.next.i.i153.i, %for.body.i.i150.i ]
  %size.07.i.i.i = phi i64 [ 1, %for.body.lr.ph.i.i148.i ], [ %mul.i.i.i, %for.body.i.i150.i ]
  %arrayidx.i.i152.i = getelementptr inbounds i64, ptr %47, i64 %indvars.iv.i.i151.i
  %48 = load i64, ptr %arrayidx.i.i152.i, align 8
  %mul.i.i.i = mul nsw i64 %48, %size.07.i.i.i
  %indvars.iv.next.i.i153.i = add nuw nsw i64 %indvars.iv.i.i151.i, 1
  %exitcond.not.i.i.i = icmp eq i64 %indvars.iv.next.i.i153.i, %wide.trip.count.i.i.i
  br i1 %exitcond.not.i.i.i, label %is_for_loops.exit.i, label %for.body.i.i150.i

is_for_loops.exit.i:                              ; preds = %for.body.i.i150.i, %land.rhs.i146.i
  %size.0.lcssa.i.i.i = phi i64 [ 1, %land.rhs.i146.i ], [ %mul.i.i.i, %for.body.i.i150.i ]
  %most.i.i = getelementptr inbounds i8, ptr %12, i64 128
  %49 = load i64, ptr %most.i.i, align 8
  %cmp8.i.not.i = icmp sgt i64 %size.0.lcssa.i.i.i, %49
  br i1 %cmp8.i.not.i, label %if.then, label %if.end12.i

if.end12.i:                                       ; preds = %is_for_loops.exit.i
  %arrayidx14.i = getelementptr inbounds %struct.operand, ptr %given, i64 %idxprom.i
  store ptr %35, ptr %arrayidx14.i, align 8
  %saved.i.i = getelementptr inbounds i8, ptr %arrayidx14.i, i64 8
  store ptr %38, ptr %saved.i.i, align 8
  %data.i.i.i = getelementptr inbounds i8, ptr %38, i64 16
  %50 = load ptr, ptr %data.i.i.i, align 8
  %add.i.i = add nuw nsw i32 %cond245.i, 1
  %idxprom.i.i = zext nneg i32 %add.i.i to i64
  %arrayidx.i.i = getelementptr inbounds [10 x ptr], ptr %values, i64 0, i64 %idxprom.i.i
  store ptr %50, ptr %arrayidx.i.i, align 8
  %51 = load i64, ptr %operands, align 8
  %cmp16.i = icmp eq i64 %51, 2
  br i1 %cmp16.i, label %if.then17.i, label %lor.lhs.false

if.then17.i:                                      ; preds = %if.end12.i
  %idxprom18.i = zext nneg i32 %land.ext.i241.i to i64
  %arrayidx19.i = getelementptr inbounds ptr, ptr %args, i64 %idxprom18.i
  %52 = load ptr, ptr %arrayidx19.i, align 8
  br i1 %tobool.not243.i, label %if.else.i, label %land.lhs.true21.i

land.lhs.true21.i:                                ; preds = %if.then17.i
  %call.i156.i = call fastcc i32 @is_usual(ptr noundef nonnull readonly %12, ptr noundef readonly %52, ptr noundef nonnull %11)
  %tobool.not.i157.i = icmp eq i32 %call.i156.i, 0
  br i1 %tobool.not.i157.i, label %if.else.i, label %land.rhs.i158.i

land.rhs.i158.i:                                  ; preds = %land.lhs.true21.i
  %53 = load i64, ptr %data_of_tensor.i, align 8
  %add.ptr.i160.i = getelementptr inbounds i8, ptr %52, i64 %53
  %54 = load ptr, ptr %add.ptr.i160.i, align 8
  %flags.i.i.i161.i = getelementptr inbounds i8, ptr %54, i64 64
  %55 = load i32, ptr %flags.i.i.i161.i, align 8
  %and.i.i162.i = and i32 %55, 256
  %tobool.not.i.i163.i = icmp eq i32 %and.i.i162.i, 0
  br i1 %tobool.not.i.i163.i, label %if.else.i, label %if.end.i.i164.i

if.end.i.i164.i:                                  ; preds = %land.rhs.i158.i
  %nd.i.i.i165.i = getelementptr inbounds i8, ptr %54, i64 24
  %56 = load i32, ptr %nd.i.i.i165.i, align 8
  %strides.i.i.i166.i = getelementptr inbounds i8, ptr %54, i64 40
  %and.i.i.i167.i = and i32 %55, 1
  %tobool3.not.i.i168.i = icmp eq i32 %and.i.i.i167.i, 0
  %cmp53.i.i169.i = icmp sgt i32 %56, 0
  %or.cond5154.i.i170.i = and i1 %tobool3.not.i.i168.i, %cmp53.i.i169.i
  br i1 %or.cond5154.i.i170.i, label %for.body.lr.ph.i.i172.i, label %if.then24.i

for.body.lr.ph.i.i172.i:                          ; preds = %if.end.i.i164.i
  %dimensions.i.i.i173.i = getelementptr inbounds i8, ptr %54, i64 32
  %57 = load ptr, ptr %dimensions.i.i.i173.i, align 8
  %58 = zext nneg i32 %56 to i64
  br label %for.body.i.i174.i

for.body.i.i174.i:                                ; preds = %cleanup.i.i190.i, %for.body.lr.ph.i.i172.i
  %indvars.iv.i.i175.i = phi i64 [ %58, %for.body.lr.ph.i.i172.i ], [ %indvars.iv.next.i.i177.i, %cleanup.i.i190.i ]
  %inner.055.i.i176.i = phi i64 [ 0, %for.body.lr.ph.i.i172.i ], [ %inner.1.i.i191.i, %cleanup.i.i190.i ]
  %indvars.iv.next.i.i177.i = add nsw i64 %indvars.iv.i.i175.i, -1
  %arrayidx.i.i178.i = getelementptr inbounds i64, ptr %57, i64 %indvars.iv.next.i.i177.i
  %59 = load i64, ptr %arrayidx.i.i178.i, align 8
  %cmp5.i.i179.i = icmp eq i64 %59, 1
  br i1 %cmp5.i.i179.i, label %if.end13.thread.i.i193.i, label %cond.end.i.i180.i

cond.end.i.i180.i:                                ; preds = %for.body.i.i174.i
  %60 = load ptr, ptr %strides.i.i.i166.i, align 8
  %arrayidx8.i.i181.i = getelementptr inbounds i64, ptr %60, i64 %indvars.iv.next.i.i177.i
  %61 = load i64, ptr %arrayidx8.i.i181.i, align 8
  %.fr.i.i182.i = freeze i64 %61
  %cmp9.i.i183.i = icmp slt i64 %.fr.i.i182.i, 0
  br i1 %cmp9.i.i183.i, label %if.else.i, label %lor.lhs.false.i.i184.i

lor.lhs.false.i.i184.i:                           ; preds = %cond.end.i.i180.i
  %cmp10.not.i.i185.i = icmp ne i64 %.fr.i.i182.i, 0
  %cmp11.i.i186.i = icmp slt i64 %.fr.i.i182.i, %inner.055.i.i176.i
  %or.cond.i.i187.i = select i1 %cmp10.not.i.i185.i, i1 %cmp11.i.i186.i, i1 false
  br i1 %or.cond.i.i187.i, label %if.else.i, label %if.end13.i.i188.i

if.end13.i.i188.i:                                ; preds = %lor.lhs.false.i.i184.i
  %cmp14.i.i189.i = icmp eq i64 %.fr.i.i182.i, 0
  br i1 %cmp14.i.i189.i, label %if.end13.thread.i.i193.i, label %cleanup.i.i190.i

if.end13.thread.i.i193.i:                         ; preds = %if.end13.i.i188.i, %for.body.i.i174.i
  br label %cleanup.i.i190.i

cleanup.i.i190.i:                                 ; preds = %if.end13.thread.i.i193.i, %if.end13.i.i188.i
  %inner.1.i.i191.i = phi i64 [ %inner.055.i.i176.i, %if.end13.thread.i.i193.i ], [ %.fr.i.i182.i, %if.end13.i.i188.i ]
  %cmp.i.i192.i = icmp ugt i64 %indvars.iv.i.i175.i, 1
  br i1 %cmp.i.i192.i, label %for.body.i.i174.i, label %if.then24.i

if.then24.i:                                      ; preds = %cleanup.i.i190.i, %if.end.i.i164.i
  %62 = load i64, ptr %spec_of_tensor.i, align 8
  %add.ptr26.i = getelementptr inbounds i8, ptr %52, i64 %62
  %63 = load ptr, ptr %add.ptr26.i, align 8
  %cmp29.not.i = icmp eq ptr %63, %37
  br i1 %cmp29.not.i, label %if.end38.i, label %land.lhs.true30.i

land.lhs.true30.i:                                ; preds = %if.then24.i
  %descr.i.i195.i = getelementptr inbounds i8, ptr %54, i64 56
  %64 = load ptr, ptr %descr.i.i195.i, align 8
  %65 = load i64, ptr %is_plain_of_spec.i.i, align 8
  %add.ptr.i197.i = getelementptr inbounds i8, ptr %63, i64 %65
  %66 = load ptr, ptr %add.ptr.i197.i, align 8
  %67 = load ptr, ptr %true_.i.i, align 8
  %cmp.i199.i = icmp eq ptr %66, %67
  br i1 %cmp.i199.i, label %land.lhs.true.i201.i, label %if.then

land.lhs.true.i201.i:                             ; preds = %land.lhs.true30.i
  %type_num.i202.i = getelementptr inbounds i8, ptr %64, i64 28
  %68 = load i32, ptr %type_num.i202.i, align 4
  %69 = add i32 %68, -11
  %or.cond.i203.i = icmp ult i32 %69, 2
  br i1 %or.cond.i203.i, label %land.lhs.true3.i204.i, label %if.then

land.lhs.true3.i204.i:                            ; preds = %land.lhs.true.i201.i
  %byteorder.i205.i = getelementptr inbounds i8, ptr %64, i64 26
  %70 = load i8, ptr %byteorder.i205.i, align 2
  %cmp5.not.i206.i = icmp eq i8 %70, 62
  br i1 %cmp5.not.i206.i, label %if.then, label %land.rhs.i207.i

land.rhs.i207.i:                                  ; preds = %land.lhs.true3.i204.i
  br i1 %cmp53.i.i169.i, label %for.body.lr.ph.i.i214.i, label %is_for_loops.exit224.i

for.body.lr.ph.i.i214.i:                          ; preds = %land.rhs.i207.i
  %dimensions.i.i.i215.i = getelementptr inbounds i8, ptr %54, i64 32
  %71 = load ptr, ptr %dimensions.i.i.i215.i, align 8
  %wide.trip.count.i.i216.i = zext nneg i32 %56 to i64
  br label %for.body.i.i217.i

for.body.i.i217.i:                                ; preds = %for.body.i.i217.i, %for.body.lr.ph.i.i214.i
  %indvars.iv.i.i218.i = phi i64 [ 0, %for.body.lr.ph.i.i214.i ], [ %indvars.iv.next.i.i222.i, %for.body.i.i217.i ]
  %size.07.i.i219.i = phi i64 [ 1, %for.body.lr.ph.i.i214.i ], [ %mul.i.i221.i, %for.body.i.i217.i ]
  %arrayidx.i.i220.i = getelementptr inbounds i64, ptr %71, i64 %indvars.iv.i.i218.i
  %72 = load i64, ptr %arrayidx.i.i220.i, align 8
  %mul.i.i221.i = mul nsw i64 %72, %size.07.i.i219.i
  %indvars.iv.next.i.i222.i = add nuw nsw i64 %indvars.iv.i.i218.i, 1
  %exitcond.not.i.i223.i = icmp eq i64 %indvars.iv.next.i.i222.i, %wide.trip.count.i.i216.i
  br i1 %exitcond.not.i.i223.i, label %is_for_loops.exit224.i, label %for.body.i.i217.i

is_for_loops.exit224.i:                           ; preds = %for.body.i.i217.i, %land.rhs.i207.i
  %size.0.lcssa.i.i211.i = phi i64 [ 1, %land.rhs.i207.i ], [ %mul.i.i221.i, %for.body.i.i217.i ]
  %73 = load i64, ptr %most.i.i, align 8
  %cmp8.i213.not.i = icmp sle i64 %size.0.lcssa.i.i211.i, %73
  %cmp36.not.i = icmp eq i32 %68, %40
  %or.cond260.i = select i1 %cmp8.i213.not.i, i1 %cmp36.not.i, i1 false
  br i1 %or.cond260.i, label %if.end38.i, label %if.then

if.end38.i:                                       ; preds = %is_for_loops.exit224.i, %if.then24.i
  %arrayidx39.i = getelementptr inbounds i8, ptr %given, i64 16
  store ptr %52, ptr %arrayidx39.i, align 8
  %saved.i228.i = getelementptr inbounds i8, ptr %given, i64 24
  store ptr %54, ptr %saved.i228.i, align 8
  %data.i.i229.i = getelementptr inbounds i8, ptr %54, i64 16
  %74 = load ptr, ptr %data.i.i229.i, align 8
  %arrayidx.i230.i = getelementptr inbounds i8, ptr %values, i64 16
  store ptr %74, ptr %arrayidx.i230.i, align 8
  br label %cond.end7

if.else.i:                                        ; preds = %lor.lhs.false.i.i184.i, %cond.end.i.i180.i, %land.rhs.i158.i, %land.lhs.true21.i, %if.then17.i
  %ob_type.i.i.i.i = getelementptr inbounds i8, ptr %52, i64 8
  %75 = load ptr, ptr %ob_type.i.i.i.i, align 8
  %cmp.i.not.i.i = icmp eq ptr %75, @PyFloat_Type
  %cmp.i73.not.i.i = icmp eq ptr %75, @PyLong_Type
  %or.cond.i231.i = or i1 %cmp.i.not.i.i, %cmp.i73.not.i.i
  br i1 %or.cond.i231.i, label %if.end.i.i, label %if.then

if.end.i.i:                                       ; preds = %if.else.i
  %numbers_of_spec.i.i = getelementptr inbounds i8, ptr %12, i64 208
  %76 = load i64, ptr %numbers_of_spec.i.i, align 8
  %add.ptr.i232.i = getelementptr inbounds i8, ptr %37, i64 %76
  %77 = load ptr, ptr %add.ptr.i232.i, align 8
  %call3.i.i = call ptr @PyDict_GetItemWithError(ptr noundef %77, ptr noundef nonnull %52) #8
  %cmp.not.i.i = icmp eq ptr %call3.i.i, null
  br i1 %cmp.not.i.i, label %if.end11.i.i, label %if.then4.i.i

if.then4.i.i:                                     ; preds = %if.end.i.i
  %ob_type.i.i.i = getelementptr inbounds i8, ptr %call3.i.i, i64 8
  %78 = load ptr, ptr %ob_type.i.i.i, align 8
  %79 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx.i233.i = getelementptr inbounds i8, ptr %79, i64 16
  %80 = load ptr, ptr %arrayidx.i233.i, align 8
  %cmp6.not.i.i = icmp eq ptr %78, %80
  br i1 %cmp6.not.i.i, label %if.end8.i.i, label %if.then

if.end8.i.i:                                      ; preds = %if.then4.i.i
  %data.i.i234.i = getelementptr inbounds i8, ptr %call3.i.i, i64 16
  %81 = load ptr, ptr %data.i.i234.i, align 8
  br label %read_number.exit.i

if.end11.i.i:                                     ; preds = %if.end.i.i
  %call12.i.i = call ptr @PyErr_Occurred() #8
  %tobool13.not.i.i = icmp eq ptr %call12.i.i, null
  br i1 %tobool13.not.i.i, label %if.end15.i.i, label %if.then

if.end15.i.i:                                     ; preds = %if.end11.i.i
  %wide16.i.i = getelementptr inbounds i8, ptr %values, i64 384
  %arrayidx18.i.i = getelementptr inbounds [2 x double], ptr %wide16.i.i, i64 0, i64 %idxprom18.i
  %82 = load ptr, ptr %ob_type.i.i.i.i, align 8
  %cmp.i76.not.i.i = icmp eq ptr %82, @PyFloat_Type
  br i1 %cmp.i76.not.i.i, label %cond.true.i.i, label %cond.end.i.i

cond.true.i.i:                                    ; preds = %if.end15.i.i
  %call21.i.i = call double @PyFloat_AsDouble(ptr noundef nonnull %52) #8
  br label %cond.end.i.i

cond.end.i.i:                                     ; preds = %cond.true.i.i, %if.end15.i.i
  %cond.i.i = phi double [ %call21.i.i, %cond.true.i.i ], [ 1.000000e+00, %if.end15.i.i ]
  store double %cond.i.i, ptr %arrayidx18.i.i, align 8
  %83 = load ptr, ptr %ob_type.i.i.i.i, align 8
  %cmp.i79.not.i.i = icmp eq ptr %83, @PyLong_Type
  br i1 %cmp.i79.not.i.i, label %land.lhs.true24.i.i, label %if.end28.i.i

land.lhs.true24.i.i:                              ; preds = %cond.end.i.i
  %call25.i.i = call i32 @PyObject_Not(ptr noundef nonnull %52) #8
  %tobool26.not.i.i = icmp eq i32 %call25.i.i, 0
  br i1 %tobool26.not.i.i, label %if.end28thread-pre-split.i.i, label %if.end28.thread.i.i

if.end28.thread.i.i:                              ; preds = %land.lhs.true24.i.i
  store double 0.000000e+00, ptr %arrayidx18.i.i, align 8
  br label %if.end31.i.i

if.end28thread-pre-split.i.i:                     ; preds = %land.lhs.true24.i.i
  %.pr.i.i = load double, ptr %arrayidx18.i.i, align 8
  br label %if.end28.i.i

if.end28.i.i:                                     ; preds = %if.end28thread-pre-split.i.i, %cond.end.i.i
  %84 = phi double [ %.pr.i.i, %if.end28thread-pre-split.i.i ], [ %cond.i.i, %cond.end.i.i ]
  %cmp29.i.i = fcmp une double %84, 0.000000e+00
  br i1 %cmp29.i.i, label %if.then, label %if.end31.i.i

if.end31.i.i:                                     ; preds = %if.end28.i.i, %if.end28.thread.i.i
  %85 = phi double [ 0.000000e+00, %if.end28.thread.i.i ], [ %84, %if.end28.i.i ]
  %conv.i.i = fptrunc double %85 to float
  %narrow.i.i = getelementptr inbounds i8, ptr %values, i64 400
  %arrayidx33.i.i = getelementptr inbounds [2 x float], ptr %narrow.i.i, i64 0, i64 %idxprom18.i
  store float %conv.i.i, ptr %arrayidx33.i.i, align 4
  %cmp34.i.i = icmp eq i32 %40, 12
  %cond42.i.i = select i1 %cmp34.i.i, ptr %arrayidx18.i.i, ptr %arrayidx33.i.i
  br label %read_number.exit.i

read_number.exit.i:                               ; preds = %if.end31.i.i, %if.end8.i.i
  %.sink.i.i = phi ptr [ %81, %if.end8.i.i ], [ %cond42.i.i, %if.end31.i.i ]
  %call3.sink.i.i = phi ptr [ %call3.i.i, %if.end8.i.i ], [ %52, %if.end31.i.i ]
  %add.i235.i = add nuw nsw i32 %land.ext.i241.i, 1
  %idxprom.i236.i = zext nneg i32 %add.i235.i to i64
  %arrayidx10.i.i = getelementptr inbounds [10 x ptr], ptr %values, i64 0, i64 %idxprom.i236.i
  store ptr %.sink.i.i, ptr %arrayidx10.i.i, align 8
  %saved.i237.i = getelementptr inbounds %struct.operand, ptr %given, i64 %idxprom18.i, i32 1
  store ptr %call3.sink.i.i, ptr %saved.i237.i, align 8
  br label %cond.end7

cond.end7:                                        ; preds = %read_number.exit.i, %if.end38.i
  %cmp9 = icmp eq ptr %38, null
  br i1 %cmp9, label %if.then, label %lor.lhs.false

lor.lhs.false:                                    ; preds = %if.end12.i, %cond.end7
  %saved.i = getelementptr inbounds i8, ptr %given, i64 8
  %86 = load ptr, ptr %saved.i, align 8
  %arrayidx1.i = getelementptr inbounds i8, ptr %given, i64 16
  %saved2.i = getelementptr inbounds i8, ptr %given, i64 24
  %87 = load ptr, ptr %saved2.i, align 8
  %88 = load ptr, ptr %descr.i.i, align 8
  %type_num.i114 = getelementptr inbounds i8, ptr %88, i64 28
  %89 = load i32, ptr %type_num.i114, align 4
  %cmp.i115 = icmp eq i32 %89, 12
  %cond.i116 = select i1 %cmp.i115, i64 8, i64 4
  %90 = load ptr, ptr %given, align 8
  %cmp4.i = icmp ne ptr %90, null
  %91 = load ptr, ptr %arrayidx1.i, align 8
  %cmp8.i = icmp ne ptr %91, null
  %or.cond.i117 = select i1 %cmp4.i, i1 %cmp8.i, i1 false
  br i1 %or.cond.i117, label %land.rhs.i, label %land.lhs.true20.i

land.rhs.i:                                       ; preds = %lor.lhs.false
  %spec_of_tensor.i126 = getelementptr inbounds i8, ptr %1, i64 224
  %92 = load i64, ptr %spec_of_tensor.i126, align 8
  %add.ptr.i127 = getelementptr inbounds i8, ptr %90, i64 %92
  %93 = load ptr, ptr %add.ptr.i127, align 8
  %add.ptr16.i = getelementptr inbounds i8, ptr %91, i64 %92
  %94 = load ptr, ptr %add.ptr16.i, align 8
  %cmp17.i.not = icmp eq ptr %93, %94
  br i1 %cmp17.i.not, label %lor.lhs.false.i125, label %cond.true44.sink.split.i

land.lhs.true20.i:                                ; preds = %lor.lhs.false
  br i1 %cmp4.i, label %lor.lhs.false.i125, label %land.lhs.true24.i

lor.lhs.false.i125:                               ; preds = %land.lhs.true20.i, %land.rhs.i
  %flags.i.i.i = getelementptr inbounds i8, ptr %86, i64 64
  %95 = load i32, ptr %flags.i.i.i, align 8
  %and.i.i = and i32 %95, 1
  %tobool23.not.i = icmp eq i32 %and.i.i, 0
  br i1 %tobool23.not.i, label %cond.end41.i, label %land.lhs.true24.i

land.lhs.true24.i:                                ; preds = %lor.lhs.false.i125, %land.lhs.true20.i
  br i1 %cmp8.i, label %lor.lhs.false26.i, label %if.then.i

lor.lhs.false26.i:                                ; preds = %land.lhs.true24.i
  %flags.i.i164.i = getelementptr inbounds i8, ptr %87, i64 64
  %96 = load i32, ptr %flags.i.i164.i, align 8
  %and.i165.i = and i32 %96, 1
  %tobool28.not.i = icmp eq i32 %and.i165.i, 0
  br i1 %tobool28.not.i, label %if.end.i120, label %if.then.i

if.then.i:                                        ; preds = %lor.lhs.false26.i, %land.lhs.true24.i
  %97 = load i32, ptr %nd.i.i.i147.i, align 8
  %cmp6.i.i = icmp sgt i32 %97, 0
  br i1 %cmp6.i.i, label %for.body.lr.ph.i.i, label %size_of.exit.thread.i

size_of.exit.thread.i:                            ; preds = %if.then.i
  %ndim.i216.i = getelementptr inbounds i8, ptr %values, i64 80
  store i32 1, ptr %ndim.i216.i, align 8
  %lengths.i217.i = getelementptr inbounds i8, ptr %values, i64 96
  store i64 1, ptr %lengths.i217.i, align 8
  br label %100

for.body.lr.ph.i.i:                               ; preds = %if.then.i
  %dimensions.i.i.i = getelementptr inbounds i8, ptr %38, i64 32
  %98 = load ptr, ptr %dimensions.i.i.i, align 8
  %wide.trip.count.i.i = zext nneg i32 %97 to i64
  br label %for.body.i.i

for.body.i.i:                                     ; preds = %for.body.i.i, %for.body.lr.ph.i.i
  %indvars.iv.i.i = phi i64 [ 0, %for.body.lr.ph.i.i ], [ %indvars.iv.next.i.i, %for.body.i.i ]
  %size.07.i.i = phi i64 [ 1, %for.body.lr.ph.i.i ], [ %mul.i.i, %for.body.i.i ]
  %arrayidx.i.i118 = getelementptr inbounds i64, ptr %98, i64 %indvars.iv.i.i
  %99 = load i64, ptr %arrayidx.i.i118, align 8
  %.fr.i = freeze i64 %99
  %mul.i.i = mul i64 %.fr.i, %size.07.i.i
  %indvars.iv.next.i.i = add nuw nsw i64 %indvars.iv.i.i, 1
  %exitcond.not.i.i = icmp eq i64 %indvars.iv.next.i.i, %wide.trip.count.i.i
  br i1 %exitcond.not.i.i, label %size_of.exit.i, label %for.body.i.i

size_of.exit.i:                                   ; preds = %for.body.i.i
  %ndim.i.i = getelementptr inbounds i8, ptr %values, i64 80
  store i32 1, ptr %ndim.i.i, align 8
  %lengths.i.i = getelementptr inbounds i8, ptr %values, i64 96
  store i64 %mul.i.i, ptr %lengths.i.i, align 8
  %cmp.i.i119 = icmp eq i64 %mul.i.i, 1
  br i1 %cmp.i.i119, label %100, label %cond.end.i

100:                                              ; preds = %size_of.exit.i, %size_of.exit.thread.i
  br label %cond.end.i

cond.end.i:                                       ; preds = %100, %size_of.exit.i
  %101 = phi i64 [ 0, %100 ], [ %cond.i116, %size_of.exit.i ]
  %full.i.i = getelementptr inbounds i8, ptr %values, i64 144
  store i64 %101, ptr %full.i.i, align 8
  %of_x.i = getelementptr inbounds i8, ptr %values, i64 288
  %none.i = getelementptr inbounds i8, ptr %values, i64 192
  %none.sink.i = select i1 %cmp4.i, ptr %full.i.i, ptr %none.i
  call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(48) %of_x.i, ptr noundef nonnull align 8 dereferenceable(48) %none.sink.i, i64 48, i1 false)
  %of_y.i = getelementptr inbounds i8, ptr %values, i64 336
  %full.i.sink.i = select i1 %cmp8.i, ptr %full.i.i, ptr %none.i
  call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(48) %of_y.i, ptr noundef nonnull align 8 dereferenceable(48) %full.i.sink.i, i64 48, i1 false)
  br label %if.end

if.end.i120:                                      ; preds = %lor.lhs.false26.i
  br i1 %cmp4.i, label %cond.true44.sink.split.i, label %cond.true44.i

cond.end41.i:                                     ; preds = %lor.lhs.false.i125
  %nd.i.i = getelementptr inbounds i8, ptr %86, i64 24
  %102 = load i32, ptr %nd.i.i, align 8
  br i1 %cmp8.i, label %cond.true44.i, label %cond.end47.i

cond.true44.sink.split.i:                         ; preds = %if.end.i120, %land.rhs.i
  %is_loose.2 = phi i32 [ 1, %land.rhs.i ], [ 0, %if.end.i120 ]
  %nd.i226.i = getelementptr inbounds i8, ptr %86, i64 24
  %103 = load i32, ptr %nd.i226.i, align 8
  br label %cond.true44.i

cond.true44.i:                                    ; preds = %cond.true44.sink.split.i, %cond.end41.i, %if.end.i120
  %is_loose.3 = phi i32 [ %is_loose.2, %cond.true44.sink.split.i ], [ 0, %cond.end41.i ], [ 0, %if.end.i120 ]
  %cond42222.i = phi i32 [ %103, %cond.true44.sink.split.i ], [ %102, %cond.end41.i ], [ 0, %if.end.i120 ]
  %nd.i166.i = getelementptr inbounds i8, ptr %87, i64 24
  %104 = load i32, ptr %nd.i166.i, align 8
  br label %cond.end47.i

cond.end47.i:                                     ; preds = %cond.true44.i, %cond.end41.i
  %is_loose.4 = phi i32 [ %is_loose.3, %cond.true44.i ], [ 0, %cond.end41.i ]
  %cond42221.i = phi i32 [ %cond42222.i, %cond.true44.i ], [ %102, %cond.end41.i ]
  %cond48.i = phi i32 [ %104, %cond.true44.i ], [ 0, %cond.end41.i ]
  %cond54.i = call i32 @llvm.smax.i32(i32 %cond42221.i, i32 %cond48.i)
  %cmp55.i = icmp sgt i32 %cond54.i, 6
  br i1 %cmp55.i, label %if.then, label %if.end58.i

if.end58.i:                                       ; preds = %cond.end47.i
  %ndim59.i = getelementptr inbounds i8, ptr %values, i64 80
  store i32 %cond54.i, ptr %ndim59.i, align 8
  %cmp60234.i = icmp sgt i32 %cond54.i, 0
  br i1 %cmp60234.i, label %for.body.lr.ph.i, label %lay_out.exit.i

for.body.lr.ph.i:                                 ; preds = %if.end58.i
  %dimensions.i.i = getelementptr inbounds i8, ptr %86, i64 32
  %dimensions.i179.i = getelementptr inbounds i8, ptr %87, i64 32
  %lengths.i = getelementptr inbounds i8, ptr %values, i64 96
  %105 = zext nneg i32 %cond54.i to i64
  br label %for.body.i

for.body.lr.ph.i169.i:                            ; preds = %cond.end81.i
  %full.i171.i = getelementptr inbounds i8, ptr %values, i64 144
  %106 = select i1 %cmp.i115, i64 3, i64 2
  br label %for.body.i172.i

for.body.i172.i:                                  ; preds = %for.body.i172.i, %for.body.lr.ph.i169.i
  %indvars.iv.i173.i = phi i64 [ %105, %for.body.lr.ph.i169.i ], [ %indvars.iv.next.i174.i, %for.body.i172.i ]
  %size.018.i.i = phi i64 [ 1, %for.body.lr.ph.i169.i ], [ %mul7.i.i, %for.body.i172.i ]
  %indvars.iv.next.i174.i = add nsw i64 %indvars.iv.i173.i, -1
  %arrayidx.i175.i = getelementptr inbounds [6 x i64], ptr %lengths.i, i64 0, i64 %indvars.iv.next.i174.i
  %107 = load i64, ptr %arrayidx.i175.i, align 8
  %cmp1.i.i = icmp eq i64 %107, 1
  %mul.i176.i = shl i64 %size.018.i.i, %106
  %cond.i177.i = select i1 %cmp1.i.i, i64 0, i64 %mul.i176.i
  %arrayidx3.i.i = getelementptr inbounds [6 x i64], ptr %full.i171.i, i64 0, i64 %indvars.iv.next.i174.i
  store i64 %cond.i177.i, ptr %arrayidx3.i.i, align 8
  %mul7.i.i = mul nsw i64 %107, %size.018.i.i
  %cmp.i178.i = icmp ugt i64 %indvars.iv.i173.i, 1
  br i1 %cmp.i178.i, label %for.body.i172.i, label %lay_out.exit.i

lay_out.exit.i:                                   ; preds = %for.body.i172.i, %if.end58.i
  %size.0.lcssa.i168.i = phi i64 [ 1, %if.end58.i ], [ %mul7.i.i, %for.body.i172.i ]
  %most.i = getelementptr inbounds i8, ptr %1, i64 128
  %108 = load i64, ptr %most.i, align 8
  %cmp87.not.i = icmp sgt i64 %size.0.lcssa.i168.i, %108
  br i1 %cmp87.not.i, label %if.then, label %land.lhs.true89.i

for.body.i:                                       ; preds = %cond.end81.i, %for.body.lr.ph.i
  %indvars.iv.i = phi i64 [ %105, %for.body.lr.ph.i ], [ %indvars.iv.next.i, %cond.end81.i ]
  %in_y.0236.i = phi i32 [ %cond48.i, %for.body.lr.ph.i ], [ %dec70.i, %cond.end81.i ]
  %in_x.0235.i = phi i32 [ %cond42221.i, %for.body.lr.ph.i ], [ %dec.i, %cond.end81.i ]
  %indvars.iv.next.i = add nsw i64 %indvars.iv.i, -1
  %dec.i = add nsw i32 %in_x.0235.i, -1
  %cmp62.i = icmp slt i32 %in_x.0235.i, 1
  br i1 %cmp62.i, label %cond.end68.i, label %cond.false65.i

cond.false65.i:                                   ; preds = %for.body.i
  %109 = load ptr, ptr %dimensions.i.i, align 8
  %idxprom.i124 = zext nneg i32 %dec.i to i64
  %arrayidx67.i = getelementptr inbounds i64, ptr %109, i64 %idxprom.i124
  %110 = load i64, ptr %arrayidx67.i, align 8
  br label %cond.end68.i

cond.end68.i:                                     ; preds = %cond.false65.i, %for.body.i
  %cond69.i = phi i64 [ %110, %cond.false65.i ], [ 1, %for.body.i ]
  %dec70.i = add nsw i32 %in_y.0236.i, -1
  %cmp71.i = icmp sgt i32 %in_y.0236.i, 0
  %cmp74.i = icmp eq i64 %cond69.i, 1
  %or.cond112.i = select i1 %cmp71.i, i1 %cmp74.i, i1 false
  br i1 %or.cond112.i, label %cond.true76.i, label %cond.end81.i

cond.true76.i:                                    ; preds = %cond.end68.i
  %111 = load ptr, ptr %dimensions.i179.i, align 8
  %idxprom78.i = zext nneg i32 %dec70.i to i64
  %arrayidx79.i = getelementptr inbounds i64, ptr %111, i64 %idxprom78.i
  %112 = load i64, ptr %arrayidx79.i, align 8
  br label %cond.end81.i

cond.end81.i:                                     ; preds = %cond.true76.i, %cond.end68.i
  %cond82.i = phi i64 [ %112, %cond.true76.i ], [ %cond69.i, %cond.end68.i ]
  %arrayidx84.i = getelementptr inbounds [6 x i64], ptr %lengths.i, i64 0, i64 %indvars.iv.next.i
  store i64 %cond82.i, ptr %arrayidx84.i, align 8
  %cmp60.i = icmp ugt i64 %indvars.iv.i, 1
  br i1 %cmp60.i, label %for.body.i, label %for.body.lr.ph.i169.i

land.lhs.true89.i:                                ; preds = %lay_out.exit.i
  br i1 %cmp4.i, label %lor.lhs.false91.i, label %land.rhs96.i

lor.lhs.false91.i:                                ; preds = %land.lhs.true89.i
  %of_x92.i = getelementptr inbounds i8, ptr %values, i64 288
  %lengths93.i = getelementptr inbounds i8, ptr %values, i64 96
  %nd.i.i180.i = getelementptr inbounds i8, ptr %86, i64 24
  %113 = load i32, ptr %nd.i.i180.i, align 8
  %sub.i.i = sub nsw i32 %cond54.i, %113
  %cmp.i181.i = icmp slt i32 %sub.i.i, 0
  br i1 %cmp.i181.i, label %if.then, label %for.cond.preheader.i.i

for.cond.preheader.i.i:                           ; preds = %lor.lhs.false91.i
  %cmp255.i.i = icmp slt i32 %cond54.i, 1
  br i1 %cmp255.i.i, label %find_steps.exit.i, label %for.body.lr.ph.i182.i

for.body.lr.ph.i182.i:                            ; preds = %for.cond.preheader.i.i
  %dimensions.i.i183.i = getelementptr inbounds i8, ptr %86, i64 32
  %strides.i.i.i = getelementptr inbounds i8, ptr %86, i64 40
  %114 = zext nneg i32 %cond54.i to i64
  %115 = zext nneg i32 %sub.i.i to i64
  br label %for.body.i184.i

for.body.i184.i:                                  ; preds = %cond.end19.i.i, %for.body.lr.ph.i182.i
  %indvars.iv.i185.i = phi i64 [ %114, %for.body.lr.ph.i182.i ], [ %indvars.iv.next.i186.i, %cond.end19.i.i ]
  %indvars.iv.next.i186.i = add nsw i64 %indvars.iv.i185.i, -1
  %cmp3.not.i.i = icmp sgt i64 %indvars.iv.i185.i, %115
  br i1 %cmp3.not.i.i, label %cond.end.i.i121, label %cond.end19.i.i

cond.end.i.i121:                                  ; preds = %for.body.i184.i
  %116 = load ptr, ptr %dimensions.i.i183.i, align 8
  %117 = sub nsw i64 %indvars.iv.next.i186.i, %115
  %arrayidx.i187.i = getelementptr inbounds i64, ptr %116, i64 %117
  %118 = load i64, ptr %arrayidx.i187.i, align 8
  %arrayidx7.i.i = getelementptr inbounds i64, ptr %lengths93.i, i64 %indvars.iv.next.i186.i
  %119 = load i64, ptr %arrayidx7.i.i, align 8
  %cmp8.i.i = icmp eq i64 %118, %119
  %cmp9.i.i = icmp eq i64 %118, 1
  %or.cond.not.i.i = or i1 %cmp9.i.i, %cmp8.i.i
  br i1 %or.cond.not.i.i, label %if.end11.i.i122, label %if.then

if.end11.i.i122:                                  ; preds = %cond.end.i.i121
  br i1 %cmp9.i.i, label %cond.end19.i.i, label %cond.false14.i.i

cond.false14.i.i:                                 ; preds = %if.end11.i.i122
  %120 = load ptr, ptr %strides.i.i.i, align 8
  %arrayidx18.i.i123 = getelementptr inbounds i64, ptr %120, i64 %117
  %121 = load i64, ptr %arrayidx18.i.i123, align 8
  br label %cond.end19.i.i

cond.end19.i.i:                                   ; preds = %cond.false14.i.i, %if.end11.i.i122, %for.body.i184.i
  %cond20.i.i = phi i64 [ %121, %cond.false14.i.i ], [ 0, %if.end11.i.i122 ], [ 0, %for.body.i184.i ]
  %arrayidx22.i.i = getelementptr inbounds [6 x i64], ptr %of_x92.i, i64 0, i64 %indvars.iv.next.i186.i
  store i64 %cond20.i.i, ptr %arrayidx22.i.i, align 8
  %cmp2.i.i = icmp ult i64 %indvars.iv.i185.i, 2
  br i1 %cmp2.i.i, label %find_steps.exit.i, label %for.body.i184.i

find_steps.exit.i:                                ; preds = %cond.end19.i.i, %for.cond.preheader.i.i
  br i1 %cmp8.i, label %lor.rhs.i, label %if.end

land.rhs96.i:                                     ; preds = %land.lhs.true89.i
  br i1 %cmp8.i, label %lor.rhs.i, label %if.end

lor.rhs.i:                                        ; preds = %land.rhs96.i, %find_steps.exit.i
  %of_y98.i = getelementptr inbounds i8, ptr %values, i64 336
  %lengths99.i = getelementptr inbounds i8, ptr %values, i64 96
  %nd.i.i188.i = getelementptr inbounds i8, ptr %87, i64 24
  %122 = load i32, ptr %nd.i.i188.i, align 8
  %sub.i189.i = sub nsw i32 %cond54.i, %122
  %cmp.i190.i = icmp slt i32 %sub.i189.i, 0
  br i1 %cmp.i190.i, label %if.then, label %for.cond.preheader.i191.i

for.cond.preheader.i191.i:                        ; preds = %lor.rhs.i
  %cmp255.i192.i = icmp slt i32 %cond54.i, 1
  br i1 %cmp255.i192.i, label %if.end, label %for.body.lr.ph.i193.i

for.body.lr.ph.i193.i:                            ; preds = %for.cond.preheader.i191.i
  %dimensions.i.i194.i = getelementptr inbounds i8, ptr %87, i64 32
  %strides.i.i195.i = getelementptr inbounds i8, ptr %87, i64 40
  %123 = zext nneg i32 %cond54.i to i64
  %124 = zext nneg i32 %sub.i189.i to i64
  br label %for.body.i196.i

for.body.i196.i:                                  ; preds = %cond.end19.i200.i, %for.body.lr.ph.i193.i
  %indvars.iv.i197.i = phi i64 [ %123, %for.body.lr.ph.i193.i ], [ %indvars.iv.next.i198.i, %cond.end19.i200.i ]
  %indvars.iv.next.i198.i = add nsw i64 %indvars.iv.i197.i, -1
  %cmp3.not.i199.i = icmp sgt i64 %indvars.iv.i197.i, %124
  br i1 %cmp3.not.i199.i, label %cond.end.i205.i, label %cond.end19.i200.i

cond.end.i205.i:                                  ; preds = %for.body.i196.i
  %125 = load ptr, ptr %dimensions.i.i194.i, align 8
  %126 = sub nsw i64 %indvars.iv.next.i198.i, %124
  %arrayidx.i206.i = getelementptr inbounds i64, ptr %125, i64 %126
  %127 = load i64, ptr %arrayidx.i206.i, align 8
  %arrayidx7.i207.i = getelementptr inbounds i64, ptr %lengths99.i, i64 %indvars.iv.next.i198.i
  %128 = load i64, ptr %arrayidx7.i207.i, align 8
  %cmp8.i208.i = icmp eq i64 %127, %128
  %cmp9.i209.i = icmp eq i64 %127, 1
  %or.cond.not.i210.i = or i1 %cmp9.i209.i, %cmp8.i208.i
  br i1 %or.cond.not.i210.i, label %if.end11.i211.i, label %if.then

if.end11.i211.i:                                  ; preds = %cond.end.i205.i
  br i1 %cmp9.i209.i, label %cond.end19.i200.i, label %cond.false14.i212.i

cond.false14.i212.i:                              ; preds = %if.end11.i211.i
  %129 = load ptr, ptr %strides.i.i195.i, align 8
  %arrayidx18.i213.i = getelementptr inbounds i64, ptr %129, i64 %126
  %130 = load i64, ptr %arrayidx18.i213.i, align 8
  br label %cond.end19.i200.i

cond.end19.i200.i:                                ; preds = %cond.false14.i212.i, %if.end11.i211.i, %for.body.i196.i
  %cond20.i201.i = phi i64 [ %130, %cond.false14.i212.i ], [ 0, %if.end11.i211.i ], [ 0, %for.body.i196.i ]
  %arrayidx22.i202.i = getelementptr inbounds [6 x i64], ptr %of_y98.i, i64 0, i64 %indvars.iv.next.i198.i
  store i64 %cond20.i201.i, ptr %arrayidx22.i202.i, align 8
  %cmp2.i203.i = icmp ult i64 %indvars.iv.i197.i, 2
  br i1 %cmp2.i203.i, label %if.end, label %for.body.i196.i

if.then:                                          ; preds = %cond.end.i.i129.i, %lor.lhs.false.i.i133.i, %cond.end.i.i121, %cond.end.i205.i, %lor.rhs.i, %lor.lhs.false91.i, %lay_out.exit.i, %cond.end47.i, %entry, %if.else.i, %if.end28.i.i, %if.end11.i.i, %if.then4.i.i, %land.lhs.true.i201.i, %land.lhs.true30.i, %land.lhs.true3.i204.i, %if.end.i111, %land.lhs.true3.i.i, %land.rhs.i107.i, %lor.lhs.false.i, %is_for_loops.exit224.i, %is_for_loops.exit.i, %land.lhs.true.i, %cond.end.thread187, %cond.end, %cond.end7
  %call11 = call ptr @PyErr_Occurred() #8
  %tobool12.not = icmp eq ptr %call11, null
  br i1 %tobool12.not, label %cond.false14, label %cleanup74

cond.false14:                                     ; preds = %if.then
  %none = getelementptr inbounds i8, ptr %1, i64 32
  %131 = load ptr, ptr %none, align 8
  call void @Py_IncRef(ptr noundef %131) #8
  br label %cleanup74

if.end:                                           ; preds = %cond.end19.i200.i, %for.cond.preheader.i191.i, %land.rhs96.i, %find_steps.exit.i, %cond.end.i
  %is_loose.5 = phi i32 [ %is_loose.4, %for.cond.preheader.i191.i ], [ %is_loose.4, %find_steps.exit.i ], [ %is_loose.4, %land.rhs96.i ], [ 0, %cond.end.i ], [ %is_loose.4, %cond.end19.i200.i ]
  %132 = load ptr, ptr %descr.i.i, align 8
  %type_num = getelementptr inbounds i8, ptr %132, i64 28
  %133 = load i32, ptr %type_num, align 4
  %cmp19 = icmp eq i32 %133, 12
  call void @Py_IncRef(ptr noundef %132) #8
  %134 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx = getelementptr inbounds i8, ptr %134, i64 752
  %135 = load ptr, ptr %arrayidx, align 8
  %arrayidx21 = getelementptr inbounds i8, ptr %134, i64 16
  %136 = load ptr, ptr %arrayidx21, align 8
  %137 = load ptr, ptr %descr.i.i, align 8
  %tobool23.not = icmp eq i32 %is_loose.5, 0
  br i1 %tobool23.not, label %cond.false32, label %cond.true30

cond.true30:                                      ; preds = %if.end
  %ndim = getelementptr inbounds i8, ptr %values, i64 80
  %138 = load i32, ptr %ndim, align 8
  %lengths = getelementptr inbounds i8, ptr %values, i64 96
  br label %cond.end34

cond.false32:                                     ; preds = %if.end
  %139 = load i32, ptr %nd.i.i.i147.i, align 8
  %dimensions.i = getelementptr inbounds i8, ptr %38, i64 32
  %140 = load ptr, ptr %dimensions.i, align 8
  br label %cond.end34

cond.end34:                                       ; preds = %cond.false32, %cond.true30
  %cond28203 = phi i32 [ %138, %cond.true30 ], [ %139, %cond.false32 ]
  %cond35 = phi ptr [ %lengths, %cond.true30 ], [ %140, %cond.false32 ]
  %call36 = call ptr %135(ptr noundef %136, ptr noundef %137, i32 noundef %cond28203, ptr noundef %cond35, ptr noundef null, ptr noundef null, i32 noundef 0, ptr noundef null) #8
  %cmp37 = icmp eq ptr %call36, null
  br i1 %cmp37, label %cleanup74, label %if.end40

if.end40:                                         ; preds = %cond.end34
  %temporaries = getelementptr inbounds i8, ptr %0, i64 112
  %141 = load i64, ptr %temporaries, align 8
  %cmp41.not = icmp eq i64 %141, 0
  br i1 %cmp41.not, label %if.end47, label %if.then43

if.then43:                                        ; preds = %if.end40
  %nd.i.i130 = getelementptr inbounds i8, ptr %call36, i64 24
  %142 = load i32, ptr %nd.i.i130, align 8
  %cmp6.i = icmp sgt i32 %142, 0
  br i1 %cmp6.i, label %for.body.lr.ph.i132, label %size_of.exit

for.body.lr.ph.i132:                              ; preds = %if.then43
  %dimensions.i.i133 = getelementptr inbounds i8, ptr %call36, i64 32
  %143 = load ptr, ptr %dimensions.i.i133, align 8
  %wide.trip.count.i = zext nneg i32 %142 to i64
  br label %for.body.i134

for.body.i134:                                    ; preds = %for.body.i134, %for.body.lr.ph.i132
  %indvars.iv.i135 = phi i64 [ 0, %for.body.lr.ph.i132 ], [ %indvars.iv.next.i136, %for.body.i134 ]
  %size.07.i = phi i64 [ 1, %for.body.lr.ph.i132 ], [ %mul.i, %for.body.i134 ]
  %arrayidx.i = getelementptr inbounds i64, ptr %143, i64 %indvars.iv.i135
  %144 = load i64, ptr %arrayidx.i, align 8
  %mul.i = mul nsw i64 %144, %size.07.i
  %indvars.iv.next.i136 = add nuw nsw i64 %indvars.iv.i135, 1
  %exitcond.not.i = icmp eq i64 %indvars.iv.next.i136, %wide.trip.count.i
  br i1 %exitcond.not.i, label %size_of.exit.loopexit, label %for.body.i134

size_of.exit.loopexit:                            ; preds = %for.body.i134
  %145 = shl i64 %mul.i, 3
  %146 = add i64 %145, 8
  br label %size_of.exit

size_of.exit:                                     ; preds = %size_of.exit.loopexit, %if.then43
  %size.0.lcssa.i = phi i64 [ 16, %if.then43 ], [ %146, %size_of.exit.loopexit ]
  %mul46 = mul nsw i64 %size.0.lcssa.i, %141
  %147 = alloca i8, i64 %mul46, align 64
  br label %for.body.i137

for.body.i137:                                    ; preds = %for.body.i137, %size_of.exit
  %indvars.iv.i138 = phi i64 [ 0, %size_of.exit ], [ %indvars.iv.next.i142, %for.body.i137 ]
  %mul.i139 = mul nsw i64 %indvars.iv.i138, %size.0.lcssa.i
  %add.ptr.i140 = getelementptr inbounds i8, ptr %147, i64 %mul.i139
  %148 = add nuw nsw i64 %indvars.iv.i138, 4
  %arrayidx.i141 = getelementptr inbounds [10 x ptr], ptr %values, i64 0, i64 %148
  store ptr %add.ptr.i140, ptr %arrayidx.i141, align 8
  %indvars.iv.next.i142 = add nuw nsw i64 %indvars.iv.i138, 1
  %exitcond.not.i143 = icmp eq i64 %indvars.iv.next.i142, 6
  br i1 %exitcond.not.i143, label %if.end47, label %for.body.i137

if.end47:                                         ; preds = %for.body.i137, %if.end40
  %flags = getelementptr inbounds i8, ptr %1, i64 120
  %149 = load i64, ptr %flags, align 8
  %conv48 = trunc i64 %149 to i32
  %call49 = call i32 @fetestexcept(i32 noundef %conv48) #8
  %tobool50.not = icmp eq i32 %call49, 0
  br i1 %tobool50.not, label %if.end55, label %if.then51

if.then51:                                        ; preds = %if.end47
  %150 = load i64, ptr %flags, align 8
  %conv53 = trunc i64 %150 to i32
  %call54 = call i32 @feclearexcept(i32 noundef %conv53) #8
  br label %if.end55

if.end55:                                         ; preds = %if.then51, %if.end47
  %rest = getelementptr inbounds i8, ptr %0, i64 120
  %cond61.in.v = select i1 %cmp19, i64 104, i64 96
  %cond61.in = getelementptr inbounds i8, ptr %0, i64 %cond61.in.v
  %cond61 = load i64, ptr %cond61.in, align 8
  %arrayidx.i145 = getelementptr inbounds i64, ptr %rest, i64 %cond61
  %151 = load i64, ptr %arrayidx.i145, align 8
  %cmp71.i146 = icmp sgt i64 %151, 0
  br i1 %cmp71.i146, label %for.body.lr.ph.i148, label %take_steps.exit

for.body.lr.ph.i148:                              ; preds = %if.end55
  %arrayidx1.i149 = getelementptr i8, ptr %arrayidx.i145, i64 8
  %steps.i = getelementptr inbounds i8, ptr %all.i, i64 24
  %sub14.i = add nsw i64 %151, -1
  %data.i.i = getelementptr inbounds i8, ptr %call36, i64 16
  %full.i = getelementptr inbounds i8, ptr %values, i64 144
  %ndim.i = getelementptr inbounds i8, ptr %values, i64 80
  %lengths.i150 = getelementptr inbounds i8, ptr %values, i64 96
  %invariant.gep.i.i = getelementptr i8, ptr %axes.i.i, i64 -40
  %152 = getelementptr inbounds i8, ptr %axes.i.i, i64 8
  br label %for.body.i151

for.body.i151:                                    ; preds = %go_through.exit.i, %for.body.lr.ph.i148
  %step.073.i = phi ptr [ %arrayidx1.i149, %for.body.lr.ph.i148 ], [ %incdec.ptr.i, %go_through.exit.i ]
  %k.072.i = phi i64 [ 0, %for.body.lr.ph.i148 ], [ %inc36.i, %go_through.exit.i ]
  call void @llvm.lifetime.start.p0(i64 48, ptr nonnull %all.i) #8
  %count3.i = getelementptr inbounds i8, ptr %step.073.i, i64 16
  %153 = load i64, ptr %count3.i, align 8
  %cmp469.i = icmp sgt i64 %153, 0
  br i1 %cmp469.i, label %for.body6.lr.ph.i, label %for.cond.cleanup5.i

for.body6.lr.ph.i:                                ; preds = %for.body.i151
  %operands.i164 = getelementptr inbounds i8, ptr %step.073.i, i64 24
  br label %for.body6.i

for.cond.cleanup5.i:                              ; preds = %cond.end.i166, %for.body.i151
  %cmp15.i = icmp eq i64 %k.072.i, %sub14.i
  br i1 %cmp15.i, label %cond.end21.i, label %cond.false18.i

for.body6.i:                                      ; preds = %cond.end.i166, %for.body6.lr.ph.i
  %i.070.i = phi i64 [ 0, %for.body6.lr.ph.i ], [ %inc.i, %cond.end.i166 ]
  %arrayidx7.i = getelementptr inbounds [2 x i64], ptr %operands.i164, i64 0, i64 %i.070.i
  %154 = load i64, ptr %arrayidx7.i, align 8
  %cmp8.i165 = icmp slt i64 %154, 0
  br i1 %cmp8.i165, label %cond.true.i, label %cond.false.i

cond.true.i:                                      ; preds = %for.body6.i
  %sub.i = xor i64 %154, -1
  %arrayidx9.i = getelementptr inbounds i64, ptr %rest, i64 %sub.i
  br label %cond.end.i166

cond.false.i:                                     ; preds = %for.body6.i
  %arrayidx10.i = getelementptr inbounds [10 x ptr], ptr %values, i64 0, i64 %154
  %155 = load ptr, ptr %arrayidx10.i, align 8
  br label %cond.end.i166

cond.end.i166:                                    ; preds = %cond.false.i, %cond.true.i
  %cond.v.i.i = phi i64 [ 192, %cond.true.i ], [ 144, %cond.false.i ]
  %cond.i167 = phi ptr [ %arrayidx9.i, %cond.true.i ], [ %155, %cond.false.i ]
  %arrayidx11.i = getelementptr inbounds [3 x ptr], ptr %all.i, i64 0, i64 %i.070.i
  store ptr %cond.i167, ptr %arrayidx11.i, align 8
  %156 = icmp ult i64 %154, 3
  %switch.idx.mult = mul nsw i64 %154, 48
  %switch.offset = add nsw i64 %switch.idx.mult, 240
  %cond.v.sink.i.i = select i1 %156, i64 %switch.offset, i64 %cond.v.i.i
  %cond.i.i168 = getelementptr inbounds i8, ptr %values, i64 %cond.v.sink.i.i
  %arrayidx13.i = getelementptr inbounds [3 x ptr], ptr %steps.i, i64 0, i64 %i.070.i
  store ptr %cond.i.i168, ptr %arrayidx13.i, align 8
  %inc.i = add nuw nsw i64 %i.070.i, 1
  %exitcond.not.i169 = icmp eq i64 %inc.i, %153
  br i1 %exitcond.not.i169, label %for.cond.cleanup5.i, label %for.body6.i

cond.false18.i:                                   ; preds = %for.cond.cleanup5.i
  %result.i = getelementptr inbounds i8, ptr %step.073.i, i64 40
  %157 = load i64, ptr %result.i, align 8
  %arrayidx20.i = getelementptr inbounds [10 x ptr], ptr %values, i64 0, i64 %157
  br label %cond.end21.i

cond.end21.i:                                     ; preds = %cond.false18.i, %for.cond.cleanup5.i
  %cond22.in.i = phi ptr [ %arrayidx20.i, %cond.false18.i ], [ %data.i.i, %for.cond.cleanup5.i ]
  %cond22.i = load ptr, ptr %cond22.in.i, align 8
  %arrayidx25.i = getelementptr inbounds [3 x ptr], ptr %all.i, i64 0, i64 %153
  store ptr %cond22.i, ptr %arrayidx25.i, align 8
  %arrayidx29.i = getelementptr inbounds [3 x ptr], ptr %steps.i, i64 0, i64 %153
  store ptr %full.i, ptr %arrayidx29.i, align 8
  %158 = load ptr, ptr %step.073.i, align 8
  %its.i = getelementptr inbounds i8, ptr %step.073.i, i64 8
  %159 = load ptr, ptr %its.i, align 8
  %conv.i = trunc i64 %153 to i32
  %add31.i = add nsw i32 %conv.i, 1
  %160 = load i32, ptr %ndim.i, align 8
  call void @llvm.lifetime.start.p0(i64 240, ptr nonnull %axes.i.i) #8
  %cmp227.i.i = icmp slt i32 %160, 1
  br i1 %cmp227.i.i, label %cond.end21.if.end79.thread.i_crit_edge.i, label %for.body.lr.ph.i.i152

cond.end21.if.end79.thread.i_crit_edge.i:         ; preds = %cond.end21.i
  %.pre78.i = zext nneg i32 %add31.i to i64
  br label %if.end79.thread.i.i

for.body.lr.ph.i.i152:                            ; preds = %cond.end21.i
  %cmp10222.i.i = icmp sgt i32 %conv.i, -1
  %161 = sext i32 %add31.i to i64
  %162 = zext nneg i32 %160 to i64
  %wide.trip.count.i.i153 = zext nneg i32 %add31.i to i64
  br label %for.body.i.i154

for.body.i.i154:                                  ; preds = %for.inc69.i.i, %for.body.lr.ph.i.i152
  %indvars.iv245.i.i = phi i64 [ %162, %for.body.lr.ph.i.i152 ], [ %indvars.iv.next246.i.i, %for.inc69.i.i ]
  %found.0228.i.i = phi i32 [ 0, %for.body.lr.ph.i.i152 ], [ %found.2.i.i, %for.inc69.i.i ]
  %indvars.iv.next246.i.i = add nsw i64 %indvars.iv245.i.i, -1
  %arrayidx.i.i155 = getelementptr inbounds i64, ptr %lengths.i150, i64 %indvars.iv.next246.i.i
  %163 = load i64, ptr %arrayidx.i.i155, align 8
  switch i64 %163, label %if.end7.i.i [
    i64 0, label %go_through.exit.i
    i64 1, label %for.inc69.i.i
  ]

if.end7.i.i:                                      ; preds = %for.body.i.i154
  %cmp8.i.i157 = icmp sgt i32 %found.0228.i.i, 0
  %164 = select i1 %cmp10222.i.i, i1 %cmp8.i.i157, i1 false
  br i1 %164, label %for.body13.lr.ph.i.i, label %for.cond.cleanup12.i.i

for.body13.lr.ph.i.i:                             ; preds = %if.end7.i.i
  %165 = zext nneg i32 %found.0228.i.i to i64
  %166 = getelementptr %struct.axis, ptr %axes.i.i, i64 %165
  %arrayidx22.i.i159 = getelementptr i8, ptr %166, i64 -40
  %steps23.i.i = getelementptr i8, ptr %166, i64 -32
  %167 = load i64, ptr %arrayidx22.i.i159, align 8
  br label %for.body13.i.i

for.cond.cleanup12.i.i:                           ; preds = %for.body13.i.i, %if.end7.i.i
  %joins.0.in.lcssa.i.i = phi i1 [ %cmp8.i.i157, %if.end7.i.i ], [ %cmp29.i.i162, %for.body13.i.i ]
  %168 = sext i32 %found.0228.i.i to i64
  br i1 %joins.0.in.lcssa.i.i, label %if.then32.i.i, label %if.end40.i.i

for.body13.i.i:                                   ; preds = %for.body13.i.i, %for.body13.lr.ph.i.i
  %indvars.iv.i.i160 = phi i64 [ 0, %for.body13.lr.ph.i.i ], [ %indvars.iv.next.i.i163, %for.body13.i.i ]
  %arrayidx16.i.i = getelementptr inbounds [3 x ptr], ptr %steps.i, i64 0, i64 %indvars.iv.i.i160
  %169 = load ptr, ptr %arrayidx16.i.i, align 8
  %arrayidx19.i.i = getelementptr inbounds [6 x i64], ptr %169, i64 0, i64 %indvars.iv.next246.i.i
  %170 = load i64, ptr %arrayidx19.i.i, align 8
  %arrayidx25.i.i = getelementptr inbounds [3 x i64], ptr %steps23.i.i, i64 0, i64 %indvars.iv.i.i160
  %171 = load i64, ptr %arrayidx25.i.i, align 8
  %mul.i.i161 = mul nsw i64 %171, %167
  %cmp29.i.i162 = icmp eq i64 %170, %mul.i.i161
  %indvars.iv.next.i.i163 = add nuw nsw i64 %indvars.iv.i.i160, 1
  %cmp10.i.i = icmp slt i64 %indvars.iv.next.i.i163, %161
  %172 = select i1 %cmp10.i.i, i1 %cmp29.i.i162, i1 false
  br i1 %172, label %for.body13.i.i, label %for.cond.cleanup12.i.i

if.then32.i.i:                                    ; preds = %for.cond.cleanup12.i.i
  %gep.i.i = getelementptr %struct.axis, ptr %invariant.gep.i.i, i64 %168
  %173 = load i64, ptr %gep.i.i, align 8
  %mul39.i.i = mul nsw i64 %173, %163
  store i64 %mul39.i.i, ptr %gep.i.i, align 8
  br label %for.inc69.i.i

if.end40.i.i:                                     ; preds = %for.cond.cleanup12.i.i
  %arrayidx44.i.i = getelementptr inbounds %struct.axis, ptr %axes.i.i, i64 %168
  store i64 %163, ptr %arrayidx44.i.i, align 8
  %at.i.i = getelementptr inbounds i8, ptr %arrayidx44.i.i, i64 32
  store i64 0, ptr %at.i.i, align 8
  br i1 %cmp10222.i.i, label %for.body53.lr.ph.i.i, label %for.cond.cleanup52.i.i

for.body53.lr.ph.i.i:                             ; preds = %if.end40.i.i
  %steps62.i.i = getelementptr inbounds i8, ptr %arrayidx44.i.i, i64 8
  br label %for.body53.i.i

for.cond.cleanup52.i.i:                           ; preds = %for.body53.i.i, %if.end40.i.i
  %inc68.i.i = add nsw i32 %found.0228.i.i, 1
  br label %for.inc69.i.i

for.body53.i.i:                                   ; preds = %for.body53.i.i, %for.body53.lr.ph.i.i
  %indvars.iv242.i.i = phi i64 [ 0, %for.body53.lr.ph.i.i ], [ %indvars.iv.next243.i.i, %for.body53.i.i ]
  %arrayidx56.i.i = getelementptr inbounds [3 x ptr], ptr %steps.i, i64 0, i64 %indvars.iv242.i.i
  %174 = load ptr, ptr %arrayidx56.i.i, align 8
  %arrayidx59.i.i = getelementptr inbounds [6 x i64], ptr %174, i64 0, i64 %indvars.iv.next246.i.i
  %175 = load i64, ptr %arrayidx59.i.i, align 8
  %arrayidx64.i.i = getelementptr inbounds [3 x i64], ptr %steps62.i.i, i64 0, i64 %indvars.iv242.i.i
  store i64 %175, ptr %arrayidx64.i.i, align 8
  %indvars.iv.next243.i.i = add nuw nsw i64 %indvars.iv242.i.i, 1
  %exitcond.not.i.i158 = icmp eq i64 %indvars.iv.next243.i.i, %wide.trip.count.i.i153
  br i1 %exitcond.not.i.i158, label %for.cond.cleanup52.i.i, label %for.body53.i.i

for.inc69.i.i:                                    ; preds = %for.cond.cleanup52.i.i, %if.then32.i.i, %for.body.i.i154
  %found.2.i.i = phi i32 [ %found.0228.i.i, %for.body.i.i154 ], [ %found.0228.i.i, %if.then32.i.i ], [ %inc68.i.i, %for.cond.cleanup52.i.i ]
  %cmp.i65.i = icmp slt i64 %indvars.iv245.i.i, 2
  br i1 %cmp.i65.i, label %for.end72.i.i, label %for.body.i.i154

for.end72.i.i:                                    ; preds = %for.inc69.i.i
  %cmp73.i.i = icmp eq i32 %found.2.i.i, 0
  br i1 %cmp73.i.i, label %if.end79.thread.i.i, label %if.end79.i.i

if.end79.thread.i.i:                              ; preds = %for.end72.i.i, %cond.end21.if.end79.thread.i_crit_edge.i
  %.pre.pre-phi.i = phi i64 [ %.pre78.i, %cond.end21.if.end79.thread.i_crit_edge.i ], [ %wide.trip.count.i.i153, %for.end72.i.i ]
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(40) %152, i8 0, i64 32, i1 false)
  store i64 1, ptr %axes.i.i, align 8
  br label %for.body85.lr.ph.i.i

if.end79.i.i:                                     ; preds = %for.end72.i.i
  %cmp82239.i.i = icmp sgt i32 %found.2.i.i, 0
  br i1 %cmp82239.i.i, label %for.body85.lr.ph.i.i, label %go_through.exit.i

for.body85.lr.ph.i.i:                             ; preds = %if.end79.i.i, %if.end79.thread.i.i
  %wide.trip.count251.i.pre-phi.i = phi i64 [ %wide.trip.count.i.i153, %if.end79.i.i ], [ %.pre.pre-phi.i, %if.end79.thread.i.i ]
  %found.3267.i.i = phi i32 [ %found.2.i.i, %if.end79.i.i ], [ 1, %if.end79.thread.i.i ]
  %cmp92235.not.i.i = icmp eq i32 %found.3267.i.i, 1
  %cmp97231.i.i = icmp sgt i32 %conv.i, -1
  %wide.trip.count261.i.i = zext nneg i32 %found.3267.i.i to i64
  br label %for.body85.i.i

for.body85.i.i:                                   ; preds = %for.end150.i.i, %for.body85.lr.ph.i.i
  call void %158(ptr noundef nonnull %all.i, ptr noundef nonnull %axes.i.i, ptr noundef nonnull %152, ptr noundef %159) #8
  br i1 %cmp92235.not.i.i, label %for.end150.i.i, label %for.cond96.preheader.i.i

for.cond96.preheader.i.i:                         ; preds = %for.body85.i.i, %for.cond.cleanup130.i.i
  %indvars.iv258.i.i = phi i64 [ %indvars.iv.next259.i.i, %for.cond.cleanup130.i.i ], [ 1, %for.body85.i.i ]
  br i1 %cmp97231.i.i, label %for.body100.i.i, label %for.cond.cleanup99.i.i

for.cond.cleanup99.i.i:                           ; preds = %for.body100.i.i, %for.cond96.preheader.i.i
  %arrayidx113.i.i = getelementptr inbounds %struct.axis, ptr %axes.i.i, i64 %indvars.iv258.i.i
  %at114.i.i = getelementptr inbounds i8, ptr %arrayidx113.i.i, i64 32
  %176 = load i64, ptr %at114.i.i, align 8
  %inc115.i.i = add nsw i64 %176, 1
  store i64 %inc115.i.i, ptr %at114.i.i, align 8
  %177 = load i64, ptr %arrayidx113.i.i, align 8
  %cmp119.i.i = icmp slt i64 %inc115.i.i, %177
  br i1 %cmp119.i.i, label %for.end150.loopexit.i.i, label %if.end122.i.i

for.body100.i.i:                                  ; preds = %for.cond96.preheader.i.i, %for.body100.i.i
  %indvars.iv248.i.i = phi i64 [ %indvars.iv.next249.i.i, %for.body100.i.i ], [ 0, %for.cond96.preheader.i.i ]
  %arrayidx105.i.i = getelementptr inbounds %struct.axis, ptr %axes.i.i, i64 %indvars.iv258.i.i, i32 1, i64 %indvars.iv248.i.i
  %178 = load i64, ptr %arrayidx105.i.i, align 8
  %arrayidx107.i.i = getelementptr inbounds ptr, ptr %all.i, i64 %indvars.iv248.i.i
  %179 = load ptr, ptr %arrayidx107.i.i, align 8
  %add.ptr.i.i156 = getelementptr inbounds i8, ptr %179, i64 %178
  store ptr %add.ptr.i.i156, ptr %arrayidx107.i.i, align 8
  %indvars.iv.next249.i.i = add nuw nsw i64 %indvars.iv248.i.i, 1
  %exitcond252.not.i.i = icmp eq i64 %indvars.iv.next249.i.i, %wide.trip.count251.i.pre-phi.i
  br i1 %exitcond252.not.i.i, label %for.cond.cleanup99.i.i, label %for.body100.i.i

if.end122.i.i:                                    ; preds = %for.cond.cleanup99.i.i
  store i64 0, ptr %at114.i.i, align 8
  br i1 %cmp97231.i.i, label %for.body131.lr.ph.i.i, label %for.cond.cleanup130.i.i

for.body131.lr.ph.i.i:                            ; preds = %if.end122.i.i
  %steps134.i.i = getelementptr inbounds i8, ptr %arrayidx113.i.i, i64 8
  br label %for.body131.i.i

for.cond.cleanup130.i.i:                          ; preds = %for.body131.i.i, %if.end122.i.i
  %indvars.iv.next259.i.i = add nuw nsw i64 %indvars.iv258.i.i, 1
  %exitcond262.not.i.i = icmp eq i64 %indvars.iv.next259.i.i, %wide.trip.count261.i.i
  br i1 %exitcond262.not.i.i, label %go_through.exit.i, label %for.cond96.preheader.i.i

for.body131.i.i:                                  ; preds = %for.body131.i.i, %for.body131.lr.ph.i.i
  %indvars.iv253.i.i = phi i64 [ 0, %for.body131.lr.ph.i.i ], [ %indvars.iv.next254.i.i, %for.body131.i.i ]
  %arrayidx136.i.i = getelementptr inbounds [3 x i64], ptr %steps134.i.i, i64 0, i64 %indvars.iv253.i.i
  %180 = load i64, ptr %arrayidx136.i.i, align 8
  %arrayidx142.i.i = getelementptr inbounds ptr, ptr %all.i, i64 %indvars.iv253.i.i
  %181 = load ptr, ptr %arrayidx142.i.i, align 8
  %182 = mul i64 %177, %180
  %mul140.reass.i.i = sub i64 0, %182
  %add.ptr143.i.i = getelementptr inbounds i8, ptr %181, i64 %mul140.reass.i.i
  store ptr %add.ptr143.i.i, ptr %arrayidx142.i.i, align 8
  %indvars.iv.next254.i.i = add nuw nsw i64 %indvars.iv253.i.i, 1
  %exitcond257.not.i.i = icmp eq i64 %indvars.iv.next254.i.i, %wide.trip.count251.i.pre-phi.i
  br i1 %exitcond257.not.i.i, label %for.cond.cleanup130.i.i, label %for.body131.i.i

for.end150.loopexit.i.i:                          ; preds = %for.cond.cleanup99.i.i
  %183 = trunc nuw nsw i64 %indvars.iv258.i.i to i32
  br label %for.end150.i.i

for.end150.i.i:                                   ; preds = %for.end150.loopexit.i.i, %for.body85.i.i
  %k80.1.lcssa.i.i = phi i32 [ 1, %for.body85.i.i ], [ %183, %for.end150.loopexit.i.i ]
  %cmp82.i.i = icmp slt i32 %k80.1.lcssa.i.i, %found.3267.i.i
  br i1 %cmp82.i.i, label %for.body85.i.i, label %go_through.exit.i

go_through.exit.i:                                ; preds = %for.body.i.i154, %for.end150.i.i, %for.cond.cleanup130.i.i, %if.end79.i.i
  call void @llvm.lifetime.end.p0(i64 240, ptr nonnull %axes.i.i) #8
  call void @llvm.lifetime.end.p0(i64 48, ptr nonnull %all.i) #8
  %inc36.i = add nuw nsw i64 %k.072.i, 1
  %incdec.ptr.i = getelementptr inbounds i8, ptr %step.073.i, i64 48
  %exitcond77.not.i = icmp eq i64 %inc36.i, %151
  br i1 %exitcond77.not.i, label %take_steps.exit, label %for.body.i151

take_steps.exit:                                  ; preds = %go_through.exit.i, %if.end55
  %184 = load i64, ptr %flags, align 8
  %conv63 = trunc i64 %184 to i32
  %call64 = call i32 @fetestexcept(i32 noundef %conv63) #8
  %tobool65.not = icmp eq i32 %call64, 0
  br i1 %tobool65.not, label %cond.false69, label %cond.true66

cond.true66:                                      ; preds = %take_steps.exit
  %none67 = getelementptr inbounds i8, ptr %1, i64 32
  %185 = load ptr, ptr %none67, align 8
  call void @Py_IncRef(ptr noundef %185) #8
  br label %cond.end71

cond.false69:                                     ; preds = %take_steps.exit
  %186 = load ptr, ptr %0, align 8
  br i1 %tobool23.not, label %if.then.i175, label %if.end.i170

if.then.i175:                                     ; preds = %cond.false69
  %node.i = getelementptr inbounds i8, ptr %0, i64 8
  %187 = load ptr, ptr %node.i, align 8
  %cmp.i176 = icmp eq ptr %90, null
  %idxprom.i177 = zext i1 %cmp.i176 to i64
  %arrayidx2.i = getelementptr inbounds %struct.operand, ptr %given, i64 %idxprom.i177
  %188 = load ptr, ptr %arrayidx2.i, align 8
  %spec_of_tensor.i178 = getelementptr inbounds i8, ptr %186, i64 224
  %189 = load i64, ptr %spec_of_tensor.i178, align 8
  %add.ptr.i179 = getelementptr inbounds i8, ptr %188, i64 %189
  %190 = load ptr, ptr %add.ptr.i179, align 8
  %call.i180 = call fastcc ptr @recorded(ptr noundef nonnull readonly %0, ptr noundef %187, ptr noundef %190, ptr noundef nonnull readonly %given, ptr noundef nonnull %call36, ptr noundef nonnull %11)
  br label %cond.end71

if.end.i170:                                      ; preds = %cond.false69
  %call4.i = call fastcc ptr @spec_for(ptr noundef %186, ptr noundef nonnull %call36)
  %cmp5.i = icmp eq ptr %call4.i, null
  br i1 %cmp5.i, label %cond.end.i172, label %cond.false.i171

cond.false.i171:                                  ; preds = %if.end.i170
  %loose.i = getelementptr inbounds i8, ptr %0, i64 16
  %191 = load ptr, ptr %loose.i, align 8
  %call7.i = call fastcc ptr @recorded(ptr noundef nonnull readonly %0, ptr noundef %191, ptr noundef nonnull %call4.i, ptr noundef nonnull readonly %given, ptr noundef nonnull %call36, ptr noundef nonnull %11)
  br label %cond.end.i172

cond.end.i172:                                    ; preds = %cond.false.i171, %if.end.i170
  %cond.i173 = phi ptr [ %call7.i, %cond.false.i171 ], [ null, %if.end.i170 ]
  call void @Py_DecRef(ptr noundef %call4.i) #8
  br label %cond.end71

cond.end71:                                       ; preds = %cond.end.i172, %if.then.i175, %cond.true66
  %cond72 = phi ptr [ %185, %cond.true66 ], [ %cond.i173, %cond.end.i172 ], [ %call.i180, %if.then.i175 ]
  call void @Py_DecRef(ptr noundef nonnull %call36) #8
  br label %cleanup74

cleanup74:                                        ; preds = %cond.end71, %cond.end34, %cond.false14, %if.then
  %retval.1 = phi ptr [ %131, %cond.false14 ], [ null, %if.then ], [ %cond72, %cond.end71 ], [ null, %cond.end34 ]
  call void @llvm.lifetime.end.p0(i64 408, ptr nonnull %values) #8
  call void @llvm.lifetime.end.p0(i64 32, ptr nonnull %given) #8
  ret ptr %retval.1
}

declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture) #1

declare void @llvm.memset.p0.i64(ptr nocapture writeonly, i8, i64, i1 immarg) #2

declare ptr @PyErr_Occurred() local_unnamed_addr #3

declare void @Py_IncRef(ptr noundef) local_unnamed_addr #3

declare void @llvm.lifetime.end.p0(i64 immarg, ptr nocapture) #1

declare i32 @fetestexcept(i32 noundef) local_unnamed_addr #4

declare i32 @feclearexcept(i32 noundef) local_unnamed_addr #4

declare void @Py_DecRef(ptr noundef) local_unnamed_addr #3

define ptr @NAME_direct(ptr nocapture noundef readonly %self, ptr nocapture noundef readonly %args, i64 %given) local_unnamed_addr #0 {
entry:
  %read.i.i = alloca %struct.operand, align 8
  %out.addr.i = alloca ptr, align 8
  %modes.i = alloca ptr, align 8
  %data.i = getelementptr inbounds i8, ptr %self, i64 16
  %0 = load ptr, ptr %data.i, align 8
  %1 = load ptr, ptr %0, align 8
  %2 = load ptr, ptr %args, align 8
  %arrayidx2 = getelementptr inbounds i8, ptr %args, i64 8
  %3 = load ptr, ptr %arrayidx2, align 8
  %call3 = tail call i64 @PyTuple_Size(ptr noundef %2) #8
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %modes.i) #8
  store ptr null, ptr %modes.i, align 8
  %modes1.i = getelementptr inbounds i8, ptr %1, i64 72
  %4 = load ptr, ptr %modes1.i, align 8
  %call.i = call i32 @PyContextVar_Get(ptr noundef %4, ptr noundef null, ptr noundef nonnull %modes.i) #8
  %cmp.i = icmp slt i32 %call.i, 0
  br i1 %cmp.i, label %made_within.exit.thread, label %if.end.i

if.end.i:                                         ; preds = %entry
  %5 = load ptr, ptr %modes.i, align 8
  %usual_of_modes.i = getelementptr inbounds i8, ptr %1, i64 144
  %6 = load i64, ptr %usual_of_modes.i, align 8
  %add.ptr.i = getelementptr inbounds i8, ptr %5, i64 %6
  %7 = load ptr, ptr %add.ptr.i, align 8
  %switch_.i = getelementptr inbounds i8, ptr %1, i64 80
  %8 = load ptr, ptr %switch_.i, align 8
  %normal_of_switch.i = getelementptr inbounds i8, ptr %1, i64 136
  %9 = load i64, ptr %normal_of_switch.i, align 8
  %add.ptr2.i = getelementptr inbounds i8, ptr %8, i64 %9
  %10 = load ptr, ptr %add.ptr2.i, align 8
  %cmp3.i = icmp eq ptr %7, %10
  %within_of_modes.i = getelementptr inbounds i8, ptr %1, i64 152
  %11 = load i64, ptr %within_of_modes.i, align 8
  %add.ptr4.i = getelementptr inbounds i8, ptr %5, i64 %11
  %12 = load ptr, ptr %add.ptr4.i, align 8
  call void @Py_DecRef(ptr noundef %5) #8
  br i1 %cmp3.i, label %made_within.exit, label %made_within.exit.thread

made_within.exit.thread:                          ; preds = %if.end.i, %entry
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %modes.i) #8
  br label %land.lhs.true

made_within.exit:                                 ; preds = %if.end.i
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %modes.i) #8
  %cmp = icmp eq ptr %12, null
  br i1 %cmp, label %land.lhs.true, label %lor.lhs.false

land.lhs.true:                                    ; preds = %made_within.exit.thread, %made_within.exit
  %call5 = call ptr @PyErr_Occurred() #8
  %tobool.not = icmp eq ptr %call5, null
  br i1 %tobool.not, label %if.then19, label %cleanup89

lor.lhs.false:                                    ; preds = %made_within.exit
  %operands7 = getelementptr inbounds i8, ptr %0, i64 144
  %13 = load i64, ptr %operands7, align 8
  %cmp8.not = icmp eq i64 %call3, %13
  br i1 %cmp8.not, label %lor.lhs.false12, label %land.lhs.true9

land.lhs.true9:                                   ; preds = %lor.lhs.false
  %cmp11 = icmp sgt i64 %13, -1
  %cmp13 = icmp sgt i64 %call3, 62
  %or.cond = select i1 %cmp11, i1 true, i1 %cmp13
  br i1 %or.cond, label %if.then19, label %lor.lhs.false14

lor.lhs.false12:                                  ; preds = %lor.lhs.false
  %cmp13.old = icmp sgt i64 %call3, 62
  br i1 %cmp13.old, label %if.then19, label %lor.lhs.false14

lor.lhs.false14:                                  ; preds = %land.lhs.true9, %lor.lhs.false12
  %has_params = getelementptr inbounds i8, ptr %0, i64 128
  %14 = load i64, ptr %has_params, align 8
  %tobool15.not = icmp eq i64 %14, 0
  br i1 %tobool15.not, label %land.lhs.true16, label %if.end21

land.lhs.true16:                                  ; preds = %lor.lhs.false14
  %call17 = call i64 @PyDict_Size(ptr noundef %3) #8
  %cmp18.not = icmp eq i64 %call17, 0
  br i1 %cmp18.not, label %if.end21, label %if.then19

if.then19:                                        ; preds = %land.lhs.true, %land.lhs.true16, %lor.lhs.false12, %land.lhs.true9
  %none = getelementptr inbounds i8, ptr %1, i64 32
  %15 = load ptr, ptr %none, align 8
  call void @Py_IncRef(ptr noundef %15) #8
  br label %cleanup89

if.end21:                                         ; preds = %land.lhs.true16, %lor.lhs.false14
  %cmp22.not235 = icmp sgt i64 %call3, 0
  br i1 %cmp22.not235, label %for.body.lr.ph, label %for.end

for.body.lr.ph:                                   ; preds = %if.end21
  %data_of_tensor = getelementptr inbounds i8, ptr %1, i64 216
  %large = getelementptr inbounds i8, ptr %0, i64 136
  %none.i = getelementptr inbounds i8, ptr %1, i64 32
  br label %for.body

for.body:                                         ; preds = %for.body.lr.ph, %for.inc
  %has_numbers.0237 = phi i32 [ 0, %for.body.lr.ph ], [ %lor.ext, %for.inc ]
  %k.0236 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %for.inc ]
  %call23 = call ptr @PyTuple_GetItem(ptr noundef %2, i64 noundef %k.0236) #8
  %call24 = call fastcc i32 @is_usual(ptr noundef %1, ptr noundef %call23, ptr noundef nonnull %12)
  %tobool25.not = icmp eq i32 %call24, 0
  br i1 %tobool25.not, label %cond.false, label %cond.true

cond.true:                                        ; preds = %for.body
  %16 = load i64, ptr %data_of_tensor, align 8
  %add.ptr = getelementptr inbounds i8, ptr %call23, i64 %16
  %17 = load ptr, ptr %add.ptr, align 8
  %nd.i.i = getelementptr inbounds i8, ptr %17, i64 24
  %18 = load i32, ptr %nd.i.i, align 8
  %cmp6.i = icmp sgt i32 %18, 0
  br i1 %cmp6.i, label %for.body.lr.ph.i, label %size_of.exit

for.body.lr.ph.i:                                 ; preds = %cond.true
  %dimensions.i.i = getelementptr inbounds i8, ptr %17, i64 32
  %19 = load ptr, ptr %dimensions.i.i, align 8
  %wide.trip.count.i = zext nneg i32 %18 to i64
  br label %for.body.i

for.body.i:                                       ; preds = %for.body.i, %for.body.lr.ph.i
  %indvars.iv.i = phi i64 [ 0, %for.body.lr.ph.i ], [ %indvars.iv.next.i, %for.body.i ]
  %size.07.i = phi i64 [ 1, %for.body.lr.ph.i ], [ %mul.i, %for.body.i ]
  %arrayidx.i = getelementptr inbounds i64, ptr %19, i64 %indvars.iv.i
  %20 = load i64, ptr %arrayidx.i, align 8
  %mul.i = mul nsw i64 %20, %size.07.i
  %indvars.iv.next.i = add nuw nsw i64 %indvars.iv.i, 1
  %exitcond.not.i = icmp eq i64 %indvars.iv.next.i, %wide.trip.count.i
  br i1 %exitcond.not.i, label %size_of.exit, label %for.body.i

size_of.exit:                                     ; preds = %for.body.i, %cond.true
  %size.0.lcssa.i = phi i64 [ 1, %cond.true ], [ %mul.i, %for.body.i ]
  %21 = load i64, ptr %large, align 8
  %cmp27.not = icmp slt i64 %size.0.lcssa.i, %21
  br i1 %cmp27.not, label %if.end35, label %cleanup39

cond.false:                                       ; preds = %for.body
  %cmp28 = icmp eq i64 %k.0236, 0
  %.pre = load ptr, ptr %none.i, align 8
  br i1 %cmp28, label %cleanup39.thread223, label %lor.lhs.false29

lor.lhs.false29:                                  ; preds = %cond.false
  %cmp.i149 = icmp eq ptr %.pre, %call23
  br i1 %cmp.i149, label %if.end35, label %lor.lhs.false.i

lor.lhs.false.i:                                  ; preds = %lor.lhs.false29
  %ob_type.i.i.i = getelementptr inbounds i8, ptr %call23, i64 8
  %22 = load ptr, ptr %ob_type.i.i.i, align 8
  %cmp.i.not.i = icmp eq ptr %22, @PyFloat_Type
  %cmp.i6.i.not = icmp eq ptr %22, @PyLong_Type
  %or.cond230 = or i1 %cmp.i.not.i, %cmp.i6.i.not
  br i1 %or.cond230, label %if.end35, label %cleanup39.thread223

if.end35:                                         ; preds = %lor.lhs.false29, %lor.lhs.false.i, %size_of.exit
  %tobool36.not = icmp eq i32 %has_numbers.0237, 0
  br i1 %tobool36.not, label %lor.rhs, label %for.inc

lor.rhs:                                          ; preds = %if.end35
  %23 = load ptr, ptr %none.i, align 8
  %cmp.i151 = icmp eq ptr %23, %call23
  br i1 %cmp.i151, label %for.inc, label %lor.lhs.false.i152

lor.lhs.false.i152:                               ; preds = %lor.rhs
  %ob_type.i.i.i153 = getelementptr inbounds i8, ptr %call23, i64 8
  %24 = load ptr, ptr %ob_type.i.i.i153, align 8
  %cmp.i.not.i154 = icmp eq ptr %24, @PyFloat_Type
  %cmp.i6.i156 = icmp eq ptr %24, @PyLong_Type
  %spec.select = or i1 %cmp.i.not.i154, %cmp.i6.i156
  br label %for.inc

for.inc:                                          ; preds = %lor.lhs.false.i152, %lor.rhs, %if.end35
  %25 = phi i1 [ true, %if.end35 ], [ true, %lor.rhs ], [ %spec.select, %lor.lhs.false.i152 ]
  %lor.ext = zext i1 %25 to i32
  %inc = add nuw nsw i64 %k.0236, 1
  %exitcond.not = icmp eq i64 %inc, %call3
  br i1 %exitcond.not, label %for.end, label %for.body

cleanup39.thread223:                              ; preds = %lor.lhs.false.i, %cond.false
  call void @Py_IncRef(ptr noundef %.pre) #8
  br label %cleanup89

cleanup39:                                        ; preds = %size_of.exit
  %26 = load ptr, ptr %none.i, align 8
  call void @Py_IncRef(ptr noundef %26) #8
  br label %cleanup89

for.end:                                          ; preds = %for.inc, %if.end21
  %has_numbers.0.lcssa = phi i1 [ false, %if.end21 ], [ %25, %for.inc ]
  %27 = load ptr, ptr %0, align 8
  %settings.i = getelementptr inbounds i8, ptr %0, i64 16
  %28 = load ptr, ptr %settings.i, align 8
  %cmp.i160 = icmp eq ptr %28, null
  %or.cond.i = or i1 %has_numbers.0.lcssa, %cmp.i160
  br i1 %or.cond.i, label %if.then.i, label %if.end.i161

if.then.i:                                        ; preds = %for.end
  br i1 %cmp.i160, label %cleanup24.sink.split.i, label %land.lhs.true.i

land.lhs.true.i:                                  ; preds = %if.then.i
  %29 = load i64, ptr %operands7, align 8
  %cmp5.i = icmp eq i64 %29, 1
  br i1 %cmp5.i, label %if.then43, label %cleanup24.sink.split.i

if.end.i161:                                      ; preds = %for.end
  %ob_type.i.i.i162 = getelementptr inbounds i8, ptr %3, i64 8
  %30 = load ptr, ptr %ob_type.i.i.i162, align 8
  %cmp.i.i = icmp eq ptr %30, %28
  br i1 %cmp.i.i, label %if.then.i.i, label %if.end.i.i

if.then.i.i:                                      ; preds = %if.end.i161
  %call_of_settings.i.i = getelementptr inbounds i8, ptr %0, i64 48
  %31 = load i64, ptr %call_of_settings.i.i, align 8
  %add.ptr.i.i = getelementptr inbounds i8, ptr %3, i64 %31
  %32 = load ptr, ptr %add.ptr.i.i, align 8
  br label %kind_of.exit.i

if.end.i.i:                                       ; preds = %if.end.i161
  %33 = load i64, ptr %operands7, align 8
  %cmp3.i.i = icmp slt i64 %33, 2
  br i1 %cmp3.i.i, label %if.then43, label %lor.lhs.false.i.i

lor.lhs.false.i.i:                                ; preds = %if.end.i.i
  %call4.i.i = call i64 @PyTuple_Size(ptr noundef %2) #8
  %34 = load i64, ptr %operands7, align 8
  %cmp6.not.i.i = icmp eq i64 %call4.i.i, %34
  br i1 %cmp6.not.i.i, label %if.end8.i.i, label %if.then43

if.end8.i.i:                                      ; preds = %lor.lhs.false.i.i
  %call9.i.i = call ptr @PyTuple_GetItem(ptr noundef %2, i64 noundef 0) #8
  %spec_of_tensor.i.i = getelementptr inbounds i8, ptr %27, i64 224
  %35 = load i64, ptr %spec_of_tensor.i.i, align 8
  %add.ptr10.i.i = getelementptr inbounds i8, ptr %call9.i.i, i64 %35
  %36 = load ptr, ptr %add.ptr10.i.i, align 8
  %call11.i.i = call ptr @PyDict_Values(ptr noundef nonnull %3) #8
  %cmp12.i.i = icmp eq ptr %call11.i.i, null
  br i1 %cmp12.i.i, label %if.end85.i.i, label %cond.end20.i.i

cond.end20.i.i:                                   ; preds = %if.end8.i.i
  %call13.i.i = call i64 @PyList_Size(ptr noundef nonnull %call11.i.i) #8
  %37 = load i64, ptr %operands7, align 8
  %add.i.i = add nsw i64 %37, 2
  %mul.i.i = shl nsw i64 %call13.i.i, 1
  %add18.i.i = add nsw i64 %add.i.i, %mul.i.i
  %call19.i.i = call ptr @PyTuple_New(i64 noundef %add18.i.i) #8
  %cmp22.not.i.i = icmp eq ptr %call19.i.i, null
  br i1 %cmp22.not.i.i, label %if.end85.i.i, label %land.rhs.preheader.i.i

land.rhs.preheader.i.i:                           ; preds = %cond.end20.i.i
  %op24.i.i = getelementptr inbounds i8, ptr %0, i64 24
  %38 = load ptr, ptr %op24.i.i, align 8
  call void @Py_IncRef(ptr noundef %38) #8
  %call26.i.i = call i32 @PyTuple_SetItem(ptr noundef nonnull %call19.i.i, i64 noundef 0, ptr noundef %38) #8
  %none.i.i = getelementptr inbounds i8, ptr %27, i64 32
  %39 = load ptr, ptr %none.i.i, align 8
  call void @Py_IncRef(ptr noundef %39) #8
  %call28.i.i = call i32 @PyTuple_SetItem(ptr noundef nonnull %call19.i.i, i64 noundef 1, ptr noundef %39) #8
  br label %land.rhs.i.i

land.rhs.i.i:                                     ; preds = %land.end45.i.i, %land.rhs.preheader.i.i
  %k.0138.i.i = phi i64 [ %inc.i.i, %land.end45.i.i ], [ 0, %land.rhs.preheader.i.i ]
  %40 = load i64, ptr %operands7, align 8
  %cmp32.not.i.i = icmp slt i64 %k.0138.i.i, %40
  br i1 %cmp32.not.i.i, label %for.body.i.i, label %for.cond.cleanup.i.i

for.cond.cleanup.i.i:                             ; preds = %land.rhs.i.i
  %cmp50140.i.i = icmp sgt i64 %call13.i.i, 0
  br i1 %cmp50140.i.i, label %for.body55.lr.ph.i.i, label %if.then73.i.i

for.body55.lr.ph.i.i:                             ; preds = %for.cond.cleanup.i.i
  %add63.i.i = add nuw i64 %call13.i.i, 2
  br label %for.body55.i.i

for.body.i.i:                                     ; preds = %land.rhs.i.i
  %call34.i.i = call ptr @PyTuple_GetItem(ptr noundef %2, i64 noundef %k.0138.i.i) #8
  %41 = load i64, ptr %spec_of_tensor.i.i, align 8
  %add.ptr36.i.i = getelementptr inbounds i8, ptr %call34.i.i, i64 %41
  %42 = load ptr, ptr %add.ptr36.i.i, align 8
  %call37.i.i = call ptr @PyLong_FromVoidPtr(ptr noundef %42) #8
  %cmp38.not.i.i = icmp eq ptr %call37.i.i, null
  br i1 %cmp38.not.i.i, label %if.end85.i.i, label %land.end45.i.i

land.end45.i.i:                                   ; preds = %for.body.i.i
  %add41.i.i = add nuw nsw i64 %k.0138.i.i, 2
  %call42.i.i = call i32 @PyTuple_SetItem(ptr noundef nonnull %call19.i.i, i64 noundef %add41.i.i, ptr noundef nonnull %call37.i.i) #8
  %cmp43.i.i = icmp eq i32 %call42.i.i, 0
  %inc.i.i = add nuw nsw i64 %k.0138.i.i, 1
  br i1 %cmp43.i.i, label %land.rhs.i.i, label %if.end85.i.i

for.body55.i.i:                                   ; preds = %for.body55.i.i, %for.body55.lr.ph.i.i
  %k46.0141.i.i = phi i64 [ 0, %for.body55.lr.ph.i.i ], [ %inc70.i.i, %for.body55.i.i ]
  %call56.i.i = call ptr @PyList_GetItem(ptr noundef nonnull %call11.i.i, i64 noundef %k46.0141.i.i) #8
  %43 = load i64, ptr %operands7, align 8
  %add58.i.i = add nuw i64 %k46.0141.i.i, 2
  %add59.i.i = add i64 %add58.i.i, %43
  call void @Py_IncRef(ptr noundef %call56.i.i) #8
  %call61.i.i = call i32 @PyTuple_SetItem(ptr noundef nonnull %call19.i.i, i64 noundef %add59.i.i, ptr noundef %call56.i.i) #8
  %44 = load i64, ptr %operands7, align 8
  %add64.i.i = add i64 %add63.i.i, %k46.0141.i.i
  %add65.i.i = add i64 %add64.i.i, %44
  %ob_type.i128.i.i = getelementptr inbounds i8, ptr %call56.i.i, i64 8
  %45 = load ptr, ptr %ob_type.i128.i.i, align 8
  call void @Py_IncRef(ptr noundef %45) #8
  %call68.i.i = call i32 @PyTuple_SetItem(ptr noundef nonnull %call19.i.i, i64 noundef %add65.i.i, ptr noundef %45) #8
  %inc70.i.i = add nuw nsw i64 %k46.0141.i.i, 1
  %exitcond.not.i166 = icmp eq i64 %inc70.i.i, %call13.i.i
  br i1 %exitcond.not.i166, label %if.then73.i.i, label %for.body55.i.i

if.then73.i.i:                                    ; preds = %for.body55.i.i, %for.cond.cleanup.i.i
  %known_of_spec.i.i = getelementptr inbounds i8, ptr %0, i64 72
  %46 = load i64, ptr %known_of_spec.i.i, align 8
  %add.ptr74.i.i = getelementptr inbounds i8, ptr %36, i64 %46
  %47 = load ptr, ptr %add.ptr74.i.i, align 8
  %call75.i.i = call ptr @PyDict_GetItemWithError(ptr noundef %47, ptr noundef nonnull %call19.i.i) #8
  %cmp76.i.i = icmp eq ptr %call75.i.i, null
  br i1 %cmp76.i.i, label %land.lhs.true.i.i, label %if.end85.i.i

land.lhs.true.i.i:                                ; preds = %if.then73.i.i
  %call78.i.i = call ptr @PyErr_Occurred() #8
  %tobool79.not.i.i = icmp eq ptr %call78.i.i, null
  br i1 %tobool79.not.i.i, label %if.end85.i.i, label %land.lhs.true80.i.i

land.lhs.true80.i.i:                              ; preds = %land.lhs.true.i.i
  %48 = load ptr, ptr @PyExc_TypeError, align 8
  %call81.i.i = call i32 @PyErr_ExceptionMatches(ptr noundef %48) #8
  %tobool82.not.i.i = icmp eq i32 %call81.i.i, 0
  br i1 %tobool82.not.i.i, label %if.end85.i.i, label %if.then83.i.i

if.then83.i.i:                                    ; preds = %land.lhs.true80.i.i
  call void @PyErr_Clear() #8
  br label %if.end85.i.i

if.end85.i.i:                                     ; preds = %land.end45.i.i, %for.body.i.i, %if.then83.i.i, %land.lhs.true80.i.i, %land.lhs.true.i.i, %if.then73.i.i, %cond.end20.i.i, %if.end8.i.i
  %cond21135145151156.i.i = phi ptr [ %call19.i.i, %if.then83.i.i ], [ %call19.i.i, %land.lhs.true80.i.i ], [ %call19.i.i, %land.lhs.true.i.i ], [ %call19.i.i, %if.then73.i.i ], [ null, %cond.end20.i.i ], [ null, %if.end8.i.i ], [ %call19.i.i, %for.body.i.i ], [ %call19.i.i, %land.end45.i.i ]
  %kind.0.i.i = phi ptr [ null, %if.then83.i.i ], [ null, %land.lhs.true80.i.i ], [ null, %land.lhs.true.i.i ], [ %call75.i.i, %if.then73.i.i ], [ null, %cond.end20.i.i ], [ null, %if.end8.i.i ], [ null, %for.body.i.i ], [ null, %land.end45.i.i ]
  call void @Py_DecRef(ptr noundef %cond21135145151156.i.i) #8
  call void @Py_DecRef(ptr noundef %call11.i.i) #8
  br label %kind_of.exit.i

kind_of.exit.i:                                   ; preds = %if.end85.i.i, %if.then.i.i
  %retval.0.i.i = phi ptr [ %32, %if.then.i.i ], [ %kind.0.i.i, %if.end85.i.i ]
  %cmp6.i163 = icmp eq ptr %retval.0.i.i, null
  br i1 %cmp6.i163, label %if.then43, label %if.end8.i

if.end8.i:                                        ; preds = %kind_of.exit.i
  %function_of_kind.i = getelementptr inbounds i8, ptr %0, i64 56
  %49 = load i64, ptr %function_of_kind.i, align 8
  %add.ptr.i164 = getelementptr inbounds i8, ptr %retval.0.i.i, i64 %49
  %50 = load ptr, ptr %add.ptr.i164, align 8
  %none.i165 = getelementptr inbounds i8, ptr %27, i64 32
  %51 = load ptr, ptr %none.i165, align 8
  %cmp10.i.not = icmp eq ptr %50, %51
  br i1 %cmp10.i.not, label %if.end13.i, label %function_of.exit

if.end13.i:                                       ; preds = %if.end8.i
  %left_of_kind.i = getelementptr inbounds i8, ptr %0, i64 64
  %52 = load i64, ptr %left_of_kind.i, align 8
  %add.ptr9.i = getelementptr inbounds i8, ptr %retval.0.i.i, i64 %52
  %53 = load ptr, ptr %add.ptr9.i, align 8
  %call14.i = call i32 @PyObject_IsTrue(ptr noundef %53) #8
  %cmp15.i = icmp eq i32 %call14.i, 0
  br i1 %cmp15.i, label %cleanup24.sink.split.i, label %if.then43

cleanup24.sink.split.i:                           ; preds = %if.end13.i, %land.lhs.true.i, %if.then.i
  %kernel18.i = getelementptr inbounds i8, ptr %0, i64 32
  %54 = load ptr, ptr %kernel18.i, align 8
  br label %function_of.exit

function_of.exit:                                 ; preds = %if.end8.i, %cleanup24.sink.split.i
  %tobool1.i = phi i1 [ false, %cleanup24.sink.split.i ], [ true, %if.end8.i ]
  %retval.2.i = phi ptr [ %54, %cleanup24.sink.split.i ], [ %50, %if.end8.i ]
  %cmp42 = icmp eq ptr %retval.2.i, null
  br i1 %cmp42, label %if.then43, label %if.end50

if.then43:                                        ; preds = %if.end.i.i, %lor.lhs.false.i.i, %if.end13.i, %kind_of.exit.i, %land.lhs.true.i, %function_of.exit
  %call44 = call ptr @PyErr_Occurred() #8
  %tobool45.not = icmp eq ptr %call44, null
  br i1 %tobool45.not, label %cond.false47, label %cleanup89

cond.false47:                                     ; preds = %if.then43
  %none48 = getelementptr inbounds i8, ptr %1, i64 32
  %55 = load ptr, ptr %none48, align 8
  call void @Py_IncRef(ptr noundef %55) #8
  br label %cleanup89

if.end50:                                         ; preds = %function_of.exit
  %call51 = call ptr @PyTuple_New(i64 noundef %call3) #8
  %cmp52 = icmp eq ptr %call51, null
  br i1 %cmp52, label %cleanup89, label %if.end54

if.end54:                                         ; preds = %if.end50
  call void @Py_IncRef(ptr noundef nonnull %12) #8
  br i1 %cmp22.not235, label %for.body59.lr.ph, label %for.cond.cleanup58

for.body59.lr.ph:                                 ; preds = %if.end54
  %none.i174 = getelementptr inbounds i8, ptr %1, i64 32
  %data_of_tensor66 = getelementptr inbounds i8, ptr %1, i64 216
  br label %for.body59

for.cond.cleanup58:                               ; preds = %cond.end68, %if.end54
  call void @Py_IncRef(ptr noundef nonnull %retval.2.i) #8
  %56 = load i64, ptr %has_params, align 8
  %tobool.i167 = icmp eq i64 %56, 0
  %or.cond.i168 = or i1 %tobool1.i, %tobool.i167
  %cond.i169 = select i1 %or.cond.i168, ptr null, ptr %3
  %call.i170 = call ptr @PyObject_Call(ptr noundef nonnull %retval.2.i, ptr noundef nonnull %call51, ptr noundef %cond.i169) #8
  call void @Py_DecRef(ptr noundef nonnull %retval.2.i) #8
  %cmp.i171 = icmp ne ptr %call.i170, null
  %or.cond5.i = and i1 %tobool1.i, %cmp.i171
  br i1 %or.cond5.i, label %if.end.i173, label %compute.exit

if.end.i173:                                      ; preds = %for.cond.cleanup58
  %call3.i = call ptr @PyTuple_GetItem(ptr noundef nonnull %call.i170, i64 noundef 0) #8
  call void @Py_IncRef(ptr noundef %call3.i) #8
  call void @Py_DecRef(ptr noundef nonnull %call.i170) #8
  br label %compute.exit

compute.exit:                                     ; preds = %for.cond.cleanup58, %if.end.i173
  %retval.0.i172 = phi ptr [ %call3.i, %if.end.i173 ], [ %call.i170, %for.cond.cleanup58 ]
  call void @Py_DecRef(ptr noundef nonnull %call51) #8
  %cmp77 = icmp eq ptr %retval.0.i172, null
  br i1 %cmp77, label %cond.end81, label %cond.false79

for.body59:                                       ; preds = %for.body59.lr.ph, %cond.end68
  %k55.0239 = phi i64 [ 0, %for.body59.lr.ph ], [ %inc73, %cond.end68 ]
  %call61 = call ptr @PyTuple_GetItem(ptr noundef %2, i64 noundef %k55.0239) #8
  %57 = load ptr, ptr %none.i174, align 8
  %cmp.i175 = icmp eq ptr %57, %call61
  br i1 %cmp.i175, label %cond.end68, label %lor.lhs.false.i176

lor.lhs.false.i176:                               ; preds = %for.body59
  %ob_type.i.i.i177 = getelementptr inbounds i8, ptr %call61, i64 8
  %58 = load ptr, ptr %ob_type.i.i.i177, align 8
  %cmp.i.not.i178 = icmp eq ptr %58, @PyFloat_Type
  %cmp.i6.i180.not = icmp eq ptr %58, @PyLong_Type
  %or.cond231 = or i1 %cmp.i.not.i178, %cmp.i6.i180.not
  br i1 %or.cond231, label %cond.end68, label %cond.false65

cond.false65:                                     ; preds = %lor.lhs.false.i176
  %59 = load i64, ptr %data_of_tensor66, align 8
  %add.ptr67 = getelementptr inbounds i8, ptr %call61, i64 %59
  %60 = load ptr, ptr %add.ptr67, align 8
  br label %cond.end68

cond.end68:                                       ; preds = %for.body59, %lor.lhs.false.i176, %cond.false65
  %cond69 = phi ptr [ %60, %cond.false65 ], [ %call61, %lor.lhs.false.i176 ], [ %call61, %for.body59 ]
  call void @Py_IncRef(ptr noundef %cond69) #8
  %call71 = call i32 @PyTuple_SetItem(ptr noundef nonnull %call51, i64 noundef %k55.0239, ptr noundef %cond69) #8
  %inc73 = add nuw nsw i64 %k55.0239, 1
  %exitcond240.not = icmp eq i64 %inc73, %call3
  br i1 %exitcond240.not, label %for.cond.cleanup58, label %for.body59

cond.false79:                                     ; preds = %compute.exit
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %out.addr.i)
  store ptr %retval.0.i172, ptr %out.addr.i, align 8
  %61 = load ptr, ptr %0, align 8
  %ob_type.i.i = getelementptr inbounds i8, ptr %retval.0.i172, i64 8
  %62 = load ptr, ptr %ob_type.i.i, align 8
  %63 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx.i184 = getelementptr inbounds i8, ptr %63, i64 16
  %64 = load ptr, ptr %arrayidx.i184, align 8
  %cmp.not.i = icmp eq ptr %62, %64
  br i1 %cmp.not.i, label %if.end9.i, label %if.then.i185

if.then.i185:                                     ; preds = %cond.false79
  %arrayidx2.i = getelementptr inbounds i8, ptr %63, i64 80
  %65 = load ptr, ptr %arrayidx2.i, align 8
  %cmp.i.not.i.i = icmp eq ptr %62, %65
  br i1 %cmp.i.not.i.i, label %cond.true.i, label %PyObject_TypeCheck.exit.i

PyObject_TypeCheck.exit.i:                        ; preds = %if.then.i185
  %call2.i.i = call i32 @PyType_IsSubtype(ptr noundef %62, ptr noundef %65) #8
  %tobool3.i.not.i = icmp eq i32 %call2.i.i, 0
  br i1 %tobool3.i.not.i, label %cond.false.i, label %PyObject_TypeCheck.exit.cond.true_crit_edge.i

PyObject_TypeCheck.exit.cond.true_crit_edge.i:    ; preds = %PyObject_TypeCheck.exit.i
  %.pre.i = load ptr, ptr @pullback_numpy, align 8
  br label %cond.true.i

cond.true.i:                                      ; preds = %PyObject_TypeCheck.exit.cond.true_crit_edge.i, %if.then.i185
  %66 = phi ptr [ %.pre.i, %PyObject_TypeCheck.exit.cond.true_crit_edge.i ], [ %63, %if.then.i185 ]
  %arrayidx4.i = getelementptr inbounds i8, ptr %66, i64 488
  %67 = load ptr, ptr %arrayidx4.i, align 8
  %call5.i = call ptr %67(ptr noundef nonnull %retval.0.i172, ptr noundef null) #8
  br label %cond.end.i

cond.false.i:                                     ; preds = %PyObject_TypeCheck.exit.i
  %asarray.i = getelementptr inbounds i8, ptr %0, i64 40
  %68 = load ptr, ptr %asarray.i, align 8
  %call6.i = call ptr @PyObject_Vectorcall(ptr noundef %68, ptr noundef nonnull %out.addr.i, i64 noundef 1, ptr noundef null) #8
  %.pre99.i = load ptr, ptr %out.addr.i, align 8
  br label %cond.end.i

cond.end.i:                                       ; preds = %cond.false.i, %cond.true.i
  %69 = phi ptr [ %retval.0.i172, %cond.true.i ], [ %.pre99.i, %cond.false.i ]
  %cond.i186 = phi ptr [ %call5.i, %cond.true.i ], [ %call6.i, %cond.false.i ]
  call void @Py_DecRef(ptr noundef %69) #8
  %cmp7.not.i = icmp eq ptr %cond.i186, null
  br i1 %cmp7.not.i, label %result_of.exit, label %if.end.i187

if.end.i187:                                      ; preds = %cond.end.i
  store ptr %cond.i186, ptr %out.addr.i, align 8
  br label %if.end9.i

if.end9.i:                                        ; preds = %if.end.i187, %cond.false79
  %70 = phi ptr [ %cond.i186, %if.end.i187 ], [ %retval.0.i172, %cond.false79 ]
  %call10.i = call fastcc ptr @spec_for(ptr noundef %61, ptr noundef nonnull %70)
  %cmp11.i = icmp eq ptr %call10.i, null
  br i1 %cmp11.i, label %cond.end15.i, label %cond.false13.i

cond.false13.i:                                   ; preds = %if.end9.i
  %71 = load ptr, ptr %out.addr.i, align 8
  %call14.i188 = call fastcc ptr @new_tensor(ptr noundef %61, ptr noundef %71, ptr noundef nonnull %call10.i, ptr noundef nonnull %12)
  br label %cond.end15.i

cond.end15.i:                                     ; preds = %cond.false13.i, %if.end9.i
  %cond16.i = phi ptr [ %call14.i188, %cond.false13.i ], [ null, %if.end9.i ]
  %call17.i = call i64 @PyTuple_Size(ptr noundef %2) #8
  %cmp1896.i = icmp sgt i64 %call17.i, 0
  br i1 %cmp1896.i, label %for.body.lr.ph.i201, label %for.cond.cleanup.i

for.body.lr.ph.i201:                              ; preds = %cond.end15.i
  %is_differentiable_of_spec.i.i = getelementptr inbounds i8, ptr %0, i64 88
  br label %for.body.i202

for.cond.cleanup.i:                               ; preds = %is_wanted.exit.i, %cond.end15.i
  %wanted.0.lcssa.i = phi i64 [ 0, %cond.end15.i ], [ %or.i, %is_wanted.exit.i ]
  %cmp22.not.i = icmp eq ptr %cond16.i, null
  br i1 %cmp22.not.i, label %if.end46.i, label %land.lhs.true.i189

for.body.i202:                                    ; preds = %is_wanted.exit.i, %for.body.lr.ph.i201
  %k.098.i = phi i64 [ 0, %for.body.lr.ph.i201 ], [ %inc.i, %is_wanted.exit.i ]
  %wanted.097.i = phi i64 [ 0, %for.body.lr.ph.i201 ], [ %or.i, %is_wanted.exit.i ]
  %call19.i = call ptr @PyTuple_GetItem(ptr noundef %2, i64 noundef %k.098.i) #8
  %72 = load ptr, ptr %0, align 8
  %none.i.i.i = getelementptr inbounds i8, ptr %72, i64 32
  %73 = load ptr, ptr %none.i.i.i, align 8
  %cmp.i.i.i = icmp eq ptr %73, %call19.i
  br i1 %cmp.i.i.i, label %is_wanted.exit.i, label %lor.lhs.false.i.i.i

lor.lhs.false.i.i.i:                              ; preds = %for.body.i202
  %ob_type.i.i.i.i.i = getelementptr inbounds i8, ptr %call19.i, i64 8
  %74 = load ptr, ptr %ob_type.i.i.i.i.i, align 8
  %cmp.i.not.i.i.i = icmp eq ptr %74, @PyFloat_Type
  %cmp.i6.i.not.i.i = icmp eq ptr %74, @PyLong_Type
  %or.cond.i.i = or i1 %cmp.i.not.i.i.i, %cmp.i6.i.not.i.i
  br i1 %or.cond.i.i, label %is_wanted.exit.i, label %if.end.i.i203

if.end.i.i203:                                    ; preds = %lor.lhs.false.i.i.i
  %node_of_tensor.i.i = getelementptr inbounds i8, ptr %72, i64 232
  %75 = load i64, ptr %node_of_tensor.i.i, align 8
  %add.ptr3.i.i = getelementptr inbounds i8, ptr %call19.i, i64 %75
  %76 = load ptr, ptr %add.ptr3.i.i, align 8
  %cmp.not.i.i = icmp eq ptr %76, %73
  br i1 %cmp.not.i.i, label %is_wanted.exit.i, label %land.rhs.i.i204

land.rhs.i.i204:                                  ; preds = %if.end.i.i203
  %spec_of_tensor.i.i205 = getelementptr inbounds i8, ptr %72, i64 224
  %77 = load i64, ptr %spec_of_tensor.i.i205, align 8
  %add.ptr.i.i206 = getelementptr inbounds i8, ptr %call19.i, i64 %77
  %78 = load ptr, ptr %add.ptr.i.i206, align 8
  %79 = load i64, ptr %is_differentiable_of_spec.i.i, align 8
  %add.ptr5.i.i = getelementptr inbounds i8, ptr %78, i64 %79
  %80 = load ptr, ptr %add.ptr5.i.i, align 8
  %true_.i.i = getelementptr inbounds i8, ptr %72, i64 40
  %81 = load ptr, ptr %true_.i.i, align 8
  %cmp7.i.i = icmp eq ptr %80, %81
  %82 = zext i1 %cmp7.i.i to i64
  br label %is_wanted.exit.i

is_wanted.exit.i:                                 ; preds = %land.rhs.i.i204, %if.end.i.i203, %lor.lhs.false.i.i.i, %for.body.i202
  %retval.0.i.i207 = phi i64 [ 0, %if.end.i.i203 ], [ %82, %land.rhs.i.i204 ], [ 0, %lor.lhs.false.i.i.i ], [ 0, %for.body.i202 ]
  %shl.i = shl nuw i64 %retval.0.i.i207, %k.098.i
  %or.i = or i64 %shl.i, %wanted.097.i
  %inc.i = add nuw nsw i64 %k.098.i, 1
  %exitcond.not.i208 = icmp eq i64 %inc.i, %call17.i
  br i1 %exitcond.not.i208, label %for.cond.cleanup.i, label %for.body.i202

land.lhs.true.i189:                               ; preds = %for.cond.cleanup.i
  %node.i = getelementptr inbounds i8, ptr %0, i64 8
  %83 = load ptr, ptr %node.i, align 8
  %cmp24.i = icmp ne ptr %83, null
  %cmp27.i = icmp ne i64 %wanted.0.lcssa.i, 0
  %or.cond.i190 = select i1 %cmp24.i, i1 %cmp27.i, i1 false
  br i1 %or.cond.i190, label %land.lhs.true29.i, label %if.end46.i

land.lhs.true29.i:                                ; preds = %land.lhs.true.i189
  %is_differentiable_of_spec.i = getelementptr inbounds i8, ptr %0, i64 88
  %84 = load i64, ptr %is_differentiable_of_spec.i, align 8
  %add.ptr.i191 = getelementptr inbounds i8, ptr %call10.i, i64 %84
  %85 = load ptr, ptr %add.ptr.i191, align 8
  %true_.i = getelementptr inbounds i8, ptr %61, i64 40
  %86 = load ptr, ptr %true_.i, align 8
  %cmp30.i = icmp eq ptr %85, %86
  br i1 %cmp30.i, label %if.then32.i, label %if.end46.i

if.then32.i:                                      ; preds = %land.lhs.true29.i
  %call35.i = call ptr @PyType_GenericAlloc(ptr noundef nonnull %83, i64 noundef 0) #8
  %cmp36.i = icmp eq ptr %call35.i, null
  br i1 %cmp36.i, label %if.then41.i, label %lor.lhs.false.i192

lor.lhs.false.i192:                               ; preds = %if.then32.i
  %87 = load ptr, ptr %out.addr.i, align 8
  %88 = load ptr, ptr %0, align 8
  %rest.i.i = getelementptr inbounds i8, ptr %0, i64 152
  %call.i.i = call i64 @PyTuple_Size(ptr noundef %2) #8
  %call2.i82.i = call ptr @PyTuple_New(i64 noundef %call.i.i) #8
  %cmp.i.i193 = icmp eq i64 %call.i.i, 1
  br i1 %cmp.i.i193, label %if.then.i.i200, label %if.else.i.i

if.then.i.i200:                                   ; preds = %lor.lhs.false.i192
  %call3.i.i = call ptr @PyTuple_GetItem(ptr noundef %2, i64 noundef 0) #8
  %spec_of_tensor.i90.i = getelementptr inbounds i8, ptr %88, i64 224
  %89 = load i64, ptr %spec_of_tensor.i90.i, align 8
  %add.ptr.i91.i = getelementptr inbounds i8, ptr %call3.i.i, i64 %89
  %90 = load ptr, ptr %add.ptr.i91.i, align 8
  %single_of_spec.i.i = getelementptr inbounds i8, ptr %0, i64 80
  %91 = load i64, ptr %single_of_spec.i.i, align 8
  %add.ptr4.i.i = getelementptr inbounds i8, ptr %90, i64 %91
  %92 = load ptr, ptr %add.ptr4.i.i, align 8
  call void @Py_IncRef(ptr noundef %92) #8
  br label %if.end.i83.i

if.else.i.i:                                      ; preds = %lor.lhs.false.i192
  %call6.i.i = call ptr @PyTuple_New(i64 noundef %call.i.i) #8
  br label %if.end.i83.i

if.end.i83.i:                                     ; preds = %if.else.i.i, %if.then.i.i200
  %specs.0.i.i = phi ptr [ %92, %if.then.i.i200 ], [ %call6.i.i, %if.else.i.i ]
  %next_of_node.i.i = getelementptr inbounds i8, ptr %88, i64 264
  %93 = load i64, ptr %next_of_node.i.i, align 8
  %add.ptr7.i.i = getelementptr inbounds i8, ptr %call35.i, i64 %93
  store ptr %call2.i82.i, ptr %add.ptr7.i.i, align 8
  %specs_of_node.i.i = getelementptr inbounds i8, ptr %0, i64 104
  %94 = load i64, ptr %specs_of_node.i.i, align 8
  %add.ptr8.i.i = getelementptr inbounds i8, ptr %call35.i, i64 %94
  store ptr %specs.0.i.i, ptr %add.ptr8.i.i, align 8
  %cmp9.i.i = icmp eq ptr %call2.i82.i, null
  %cmp10.i.i = icmp eq ptr %specs.0.i.i, null
  %or.cond.i84.i = select i1 %cmp9.i.i, i1 true, i1 %cmp10.i.i
  br i1 %or.cond.i84.i, label %if.then41.i, label %if.end12.i.i

if.end12.i.i:                                     ; preds = %if.end.i83.i
  call void @Py_IncRef(ptr noundef nonnull %call10.i) #8
  %spec_of_node.i.i = getelementptr inbounds i8, ptr %88, i64 288
  %95 = load i64, ptr %spec_of_node.i.i, align 8
  %add.ptr14.i.i = getelementptr inbounds i8, ptr %call35.i, i64 %95
  store ptr %call10.i, ptr %add.ptr14.i.i, align 8
  %none.i.i194 = getelementptr inbounds i8, ptr %88, i64 32
  %96 = load ptr, ptr %none.i.i194, align 8
  call void @Py_IncRef(ptr noundef %96) #8
  %rare_of_node.i.i = getelementptr inbounds i8, ptr %88, i64 272
  %97 = load i64, ptr %rare_of_node.i.i, align 8
  %add.ptr16.i.i = getelementptr inbounds i8, ptr %call35.i, i64 %97
  store ptr %96, ptr %add.ptr16.i.i, align 8
  call void @Py_IncRef(ptr noundef %3) #8
  %params_of_node.i.i = getelementptr inbounds i8, ptr %0, i64 96
  %98 = load i64, ptr %params_of_node.i.i, align 8
  %add.ptr18.i.i = getelementptr inbounds i8, ptr %call35.i, i64 %98
  store ptr %3, ptr %add.ptr18.i.i, align 8
  %out_data.i.i = getelementptr inbounds i8, ptr %0, i64 112
  %99 = load i64, ptr %out_data.i.i, align 8
  %cmp19.not.i.i = icmp eq i64 %99, 0
  br i1 %cmp19.not.i.i, label %if.end24.i.i, label %if.then20.i.i

if.then20.i.i:                                    ; preds = %if.end12.i.i
  %out_readers.i.i = getelementptr inbounds i8, ptr %0, i64 120
  %100 = load i64, ptr %out_readers.i.i, align 8
  %and.i.i = and i64 %100, %wanted.0.lcssa.i
  %tobool.not.i.i = icmp eq i64 %and.i.i, 0
  br i1 %tobool.not.i.i, label %cond.false.i.i, label %cond.end.i.i

cond.false.i.i:                                   ; preds = %if.then20.i.i
  %not_saved.i.i = getelementptr inbounds i8, ptr %88, i64 56
  %101 = load ptr, ptr %not_saved.i.i, align 8
  br label %cond.end.i.i

cond.end.i.i:                                     ; preds = %cond.false.i.i, %if.then20.i.i
  %cond.i.i = phi ptr [ %101, %cond.false.i.i ], [ %87, %if.then20.i.i ]
  call void @Py_IncRef(ptr noundef %cond.i.i) #8
  %102 = load i64, ptr %out_data.i.i, align 8
  %add.ptr23.i.i = getelementptr inbounds i8, ptr %call35.i, i64 %102
  store ptr %cond.i.i, ptr %add.ptr23.i.i, align 8
  br label %if.end24.i.i

if.end24.i.i:                                     ; preds = %cond.end.i.i, %if.end12.i.i
  %cmp25.not155.i.i = icmp sgt i64 %call.i.i, 0
  br i1 %cmp25.not155.i.i, label %for.body.lr.ph.i.i, label %fill.exit.i

for.body.lr.ph.i.i:                               ; preds = %if.end24.i.i
  %saved.i.i = getelementptr inbounds i8, ptr %read.i.i, i64 8
  %spec_of_tensor51.i.i = getelementptr inbounds i8, ptr %88, i64 224
  %data_of_tensor.i.i = getelementptr inbounds i8, ptr %88, i64 216
  br label %for.body.i.i195

for.body.i.i195:                                  ; preds = %if.end74.i.i, %for.body.lr.ph.i.i
  %k.0156.i.i = phi i64 [ 0, %for.body.lr.ph.i.i ], [ %inc.i.i198, %if.end74.i.i ]
  %call26.i.i196 = call ptr @PyTuple_GetItem(ptr noundef %2, i64 noundef %k.0156.i.i) #8
  call void @llvm.lifetime.start.p0(i64 16, ptr nonnull %read.i.i) #8
  %103 = load ptr, ptr %none.i.i194, align 8
  %cmp.i.i85.i = icmp eq ptr %103, %call26.i.i196
  br i1 %cmp.i.i85.i, label %is_number.exit.thread.i.i, label %lor.lhs.false.i.i86.i

lor.lhs.false.i.i86.i:                            ; preds = %for.body.i.i195
  %ob_type.i.i.i.i87.i = getelementptr inbounds i8, ptr %call26.i.i196, i64 8
  %104 = load ptr, ptr %ob_type.i.i.i.i87.i, align 8
  %.fr.i.i = freeze ptr %104
  %cmp.i.not.i.i88.i = icmp eq ptr %.fr.i.i, @PyFloat_Type
  br i1 %cmp.i.not.i.i88.i, label %is_number.exit.thread.i.i, label %is_number.exit.i.i

is_number.exit.i.i:                               ; preds = %lor.lhs.false.i.i86.i
  %cmp.i6.i.not.i89.i = icmp eq ptr %.fr.i.i, @PyLong_Type
  %spec.select.i.i = select i1 %cmp.i6.i.not.i89.i, ptr null, ptr %call26.i.i196
  br label %is_number.exit.thread.i.i

is_number.exit.thread.i.i:                        ; preds = %is_number.exit.i.i, %lor.lhs.false.i.i86.i, %for.body.i.i195
  %105 = phi ptr [ null, %lor.lhs.false.i.i86.i ], [ null, %for.body.i.i195 ], [ %spec.select.i.i, %is_number.exit.i.i ]
  store ptr %105, ptr %read.i.i, align 8
  store ptr %call26.i.i196, ptr %saved.i.i, align 8
  %106 = shl nuw i64 1, %k.0156.i.i
  %107 = and i64 %106, %wanted.0.lcssa.i
  %tobool34.not.i.i = icmp eq i64 %107, 0
  %cond38.i.i = select i1 %tobool34.not.i.i, ptr null, ptr %call26.i.i196
  %call39.i.i = call fastcc ptr @node_behind(ptr noundef nonnull %88, ptr noundef %cond38.i.i)
  %cmp40.i.i = icmp eq ptr %call39.i.i, null
  br i1 %cmp40.i.i, label %cleanup.i.i, label %if.end42.i.i

if.end42.i.i:                                     ; preds = %is_number.exit.thread.i.i
  %call43.i.i = call i32 @PyTuple_SetItem(ptr noundef %call2.i82.i, i64 noundef %k.0156.i.i, ptr noundef nonnull %call39.i.i) #8
  br i1 %cmp.i.i193, label %if.end57.i.i, label %if.then45.i.i

if.then45.i.i:                                    ; preds = %if.end42.i.i
  %cmp47.i.i = icmp eq ptr %105, null
  br i1 %cmp47.i.i, label %cond.end53.i.i, label %cond.false50.i.i

cond.false50.i.i:                                 ; preds = %if.then45.i.i
  %108 = load i64, ptr %spec_of_tensor51.i.i, align 8
  %add.ptr52.i.i = getelementptr inbounds i8, ptr %call26.i.i196, i64 %108
  br label %cond.end53.i.i

cond.end53.i.i:                                   ; preds = %cond.false50.i.i, %if.then45.i.i
  %cond54.in.i.i = phi ptr [ %add.ptr52.i.i, %cond.false50.i.i ], [ %none.i.i194, %if.then45.i.i ]
  %cond54.i.i = load ptr, ptr %cond54.in.i.i, align 8
  call void @Py_IncRef(ptr noundef %cond54.i.i) #8
  %call56.i.i197 = call i32 @PyTuple_SetItem(ptr noundef %specs.0.i.i, i64 noundef %k.0156.i.i, ptr noundef %cond54.i.i) #8
  br label %if.end57.i.i

if.end57.i.i:                                     ; preds = %cond.end53.i.i, %if.end42.i.i
  %cmp59.not.i.i = icmp eq ptr %105, null
  br i1 %cmp59.not.i.i, label %if.end63.i.i, label %if.then60.i.i

if.then60.i.i:                                    ; preds = %if.end57.i.i
  %109 = load i64, ptr %data_of_tensor.i.i, align 8
  %add.ptr61.i.i = getelementptr inbounds i8, ptr %call26.i.i196, i64 %109
  %110 = load ptr, ptr %add.ptr61.i.i, align 8
  store ptr %110, ptr %saved.i.i, align 8
  br label %if.end63.i.i

if.end63.i.i:                                     ; preds = %if.then60.i.i, %if.end57.i.i
  %111 = load i64, ptr %operands7, align 8
  %cmp65.i.i = icmp slt i64 %k.0156.i.i, %111
  br i1 %cmp65.i.i, label %land.lhs.true.i.i199, label %if.end74.i.i

land.lhs.true.i.i199:                             ; preds = %if.end63.i.i
  %arrayidx.i.i = getelementptr inbounds %struct.slots, ptr %rest.i.i, i64 %k.0156.i.i
  %112 = load i64, ptr %arrayidx.i.i, align 8
  %epoch.i.i = getelementptr inbounds i8, ptr %arrayidx.i.i, i64 8
  %113 = load i64, ptr %epoch.i.i, align 8
  %readers.i.i = getelementptr inbounds i8, ptr %arrayidx.i.i, i64 16
  %114 = load i64, ptr %readers.i.i, align 8
  %and68.i.i = and i64 %114, %wanted.0.lcssa.i
  %cmp69.i.i = icmp ne i64 %and68.i.i, 0
  %conv.i.i = zext i1 %cmp69.i.i to i32
  %call70.i.i = call fastcc i32 @save(ptr noundef nonnull %88, ptr noundef nonnull %call35.i, i64 noundef %112, i64 noundef %113, ptr noundef nonnull %read.i.i, i32 noundef %conv.i.i)
  %cmp71.i.i = icmp slt i32 %call70.i.i, 0
  br i1 %cmp71.i.i, label %cleanup.i.i, label %if.end74.i.i

if.end74.i.i:                                     ; preds = %land.lhs.true.i.i199, %if.end63.i.i
  call void @llvm.lifetime.end.p0(i64 16, ptr nonnull %read.i.i) #8
  %inc.i.i198 = add nuw nsw i64 %k.0156.i.i, 1
  %exitcond.not.i.i = icmp eq i64 %inc.i.i198, %call.i.i
  br i1 %exitcond.not.i.i, label %fill.exit.i, label %for.body.i.i195

cleanup.i.i:                                      ; preds = %land.lhs.true.i.i199, %is_number.exit.thread.i.i
  call void @llvm.lifetime.end.p0(i64 16, ptr nonnull %read.i.i) #8
  br label %if.then41.i

fill.exit.i:                                      ; preds = %if.end74.i.i, %if.end24.i.i
  %clock.i.i = getelementptr inbounds i8, ptr %88, i64 96
  %115 = load ptr, ptr %clock.i.i, align 8
  %call79.i.i = call ptr @PyObject_CallNoArgs(ptr noundef %115) #8
  %seq_of_node.i.i = getelementptr inbounds i8, ptr %88, i64 280
  %116 = load i64, ptr %seq_of_node.i.i, align 8
  %add.ptr80.i.i = getelementptr inbounds i8, ptr %call35.i, i64 %116
  store ptr %call79.i.i, ptr %add.ptr80.i.i, align 8
  %cmp81.i.i = icmp eq ptr %call79.i.i, null
  br i1 %cmp81.i.i, label %if.then41.i, label %if.else.i

if.then41.i:                                      ; preds = %fill.exit.i, %cleanup.i.i, %if.end.i83.i, %if.then32.i
  call void @Py_DecRef(ptr noundef %call35.i) #8
  call void @Py_DecRef(ptr noundef nonnull %cond16.i) #8
  br label %if.end46.i

if.else.i:                                        ; preds = %fill.exit.i
  %node_of_tensor.i = getelementptr inbounds i8, ptr %61, i64 232
  %117 = load i64, ptr %node_of_tensor.i, align 8
  %add.ptr42.i = getelementptr inbounds i8, ptr %cond16.i, i64 %117
  %118 = load ptr, ptr %add.ptr42.i, align 8
  store ptr %call35.i, ptr %add.ptr42.i, align 8
  call void @Py_DecRef(ptr noundef %118) #8
  br label %if.end46.i

if.end46.i:                                       ; preds = %if.else.i, %if.then41.i, %land.lhs.true29.i, %land.lhs.true.i189, %for.cond.cleanup.i
  %result.1.i = phi ptr [ %cond16.i, %land.lhs.true29.i ], [ %cond16.i, %land.lhs.true.i189 ], [ null, %for.cond.cleanup.i ], [ null, %if.then41.i ], [ %cond16.i, %if.else.i ]
  call void @Py_DecRef(ptr noundef %call10.i) #8
  %119 = load ptr, ptr %out.addr.i, align 8
  call void @Py_DecRef(ptr noundef %119) #8
  br label %result_of.exit

result_of.exit:                                   ; preds = %cond.end.i, %if.end46.i
  %retval.1.i = phi ptr [ %result.1.i, %if.end46.i ], [ null, %cond.end.i ]
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %out.addr.i)
  br label %cond.end81

cond.end81:                                       ; preds = %compute.exit, %result_of.exit
  %cond82 = phi ptr [ %retval.1.i, %result_of.exit ], [ null, %compute.exit ]
  call void @Py_DecRef(ptr noundef nonnull %12) #8
  br label %cleanup89

cleanup89:                                        ; preds = %cleanup39, %cond.end81, %if.end50, %cond.false47, %if.then43, %cleanup39.thread223, %land.lhs.true, %if.then19
  %retval.6 = phi ptr [ %15, %if.then19 ], [ null, %land.lhs.true ], [ %26, %cleanup39 ], [ %55, %cond.false47 ], [ null, %if.then43 ], [ %cond82, %cond.end81 ], [ null, %if.end50 ], [ %.pre, %cleanup39.thread223 ]
  ret ptr %retval.6
}

declare i64 @PyTuple_Size(ptr noundef) local_unnamed_addr #3

declare i64 @PyDict_Size(ptr noundef) local_unnamed_addr #3

declare ptr @PyTuple_GetItem(ptr noundef, i64 noundef) local_unnamed_addr #3

define internal fastcc range(i32 0, 2) i32 @is_usual(ptr nocapture noundef readonly %known, ptr nocapture noundef readonly %object, ptr noundef readnone %within) unnamed_addr #0 {
entry:
  %ob_type.i = getelementptr inbounds i8, ptr %object, i64 8
  %0 = load ptr, ptr %ob_type.i, align 8
  %1 = load ptr, ptr %known, align 8
  %cmp.not = icmp eq ptr %0, %1
  br i1 %cmp.not, label %if.end, label %return

if.end:                                           ; preds = %entry
  %extra_of_tensor = getelementptr inbounds i8, ptr %known, i64 248
  %2 = load i64, ptr %extra_of_tensor, align 8
  %add.ptr = getelementptr inbounds i8, ptr %object, i64 %2
  %3 = load ptr, ptr %add.ptr, align 8
  %cmp1 = icmp eq ptr %3, %within
  br i1 %cmp1, label %land.rhs, label %lor.lhs.false

lor.lhs.false:                                    ; preds = %if.end
  %none = getelementptr inbounds i8, ptr %known, i64 32
  %4 = load ptr, ptr %none, align 8
  %cmp2 = icmp eq ptr %3, %4
  br i1 %cmp2, label %land.lhs.true, label %lor.lhs.false6

land.lhs.true:                                    ; preds = %lor.lhs.false
  %node_of_tensor = getelementptr inbounds i8, ptr %known, i64 232
  %5 = load i64, ptr %node_of_tensor, align 8
  %add.ptr3 = getelementptr inbounds i8, ptr %object, i64 %5
  %6 = load ptr, ptr %add.ptr3, align 8
  %cmp5 = icmp eq ptr %6, %3
  br i1 %cmp5, label %land.rhs, label %lor.lhs.false6

lor.lhs.false6:                                   ; preds = %land.lhs.true, %lor.lhs.false
  %cmp.i = icmp eq ptr %4, %within
  %ob_type.i.i = getelementptr inbounds i8, ptr %3, i64 8
  %7 = load ptr, ptr %ob_type.i.i, align 8
  br i1 %cmp.i, label %cond.true.i, label %cond.false.i

cond.true.i:                                      ; preds = %lor.lhs.false6
  %view.i = getelementptr inbounds i8, ptr %known, i64 16
  %8 = load ptr, ptr %view.i, align 8
  %cmp1.i = icmp eq ptr %7, %8
  br i1 %cmp1.i, label %lor.lhs.false.i, label %return

cond.false.i:                                     ; preds = %lor.lhs.false6
  %view_within.i = getelementptr inbounds i8, ptr %known, i64 24
  %9 = load ptr, ptr %view_within.i, align 8
  %cmp3.i = icmp eq ptr %7, %9
  br i1 %cmp3.i, label %cond.end.i, label %return

cond.end.i:                                       ; preds = %cond.false.i
  %within_of_view.i = getelementptr inbounds i8, ptr %known, i64 160
  %10 = load i64, ptr %within_of_view.i, align 8
  %add.ptr.i = getelementptr inbounds i8, ptr %3, i64 %10
  %11 = load ptr, ptr %add.ptr.i, align 8
  %cmp5.i = icmp eq ptr %11, %within
  br i1 %cmp5.i, label %lor.lhs.false.i, label %return

lor.lhs.false.i:                                  ; preds = %cond.end.i, %cond.true.i
  %open_levels.i = getelementptr inbounds i8, ptr %known, i64 88
  %12 = load ptr, ptr %open_levels.i, align 8
  %call7.i = tail call i32 @PyObject_IsTrue(ptr noundef %12) #8
  %cmp8.not.i = icmp eq i32 %call7.i, 0
  br i1 %cmp8.not.i, label %lor.lhs.false10.i, label %return

lor.lhs.false10.i:                                ; preds = %lor.lhs.false.i
  %node_of_tensor.i = getelementptr inbounds i8, ptr %known, i64 232
  %13 = load i64, ptr %node_of_tensor.i, align 8
  %add.ptr11.i = getelementptr inbounds i8, ptr %object, i64 %13
  %14 = load ptr, ptr %add.ptr11.i, align 8
  %15 = load ptr, ptr %none, align 8
  %cmp13.i = icmp eq ptr %14, %15
  br i1 %cmp13.i, label %return, label %is_fresh.exit

is_fresh.exit:                                    ; preds = %lor.lhs.false10.i
  %counter_of_tensor.i = getelementptr inbounds i8, ptr %known, i64 240
  %16 = load i64, ptr %counter_of_tensor.i, align 8
  %add.ptr15.i = getelementptr inbounds i8, ptr %object, i64 %16
  %17 = load ptr, ptr %add.ptr15.i, align 8
  %version_of_view.i = getelementptr inbounds i8, ptr %known, i64 192
  %18 = load i64, ptr %version_of_view.i, align 8
  %add.ptr16.i = getelementptr inbounds i8, ptr %3, i64 %18
  %19 = load ptr, ptr %add.ptr16.i, align 8
  %value_of_counter.i = getelementptr inbounds i8, ptr %known, i64 184
  %20 = load i64, ptr %value_of_counter.i, align 8
  %add.ptr17.i = getelementptr inbounds i8, ptr %17, i64 %20
  %21 = load ptr, ptr %add.ptr17.i, align 8
  %call18.i = tail call i32 @PyObject_RichCompareBool(ptr noundef %19, ptr noundef %21, i32 noundef 2) #8
  %cmp19.i.not = icmp eq i32 %call18.i, 1
  br i1 %cmp19.i.not, label %land.rhs, label %return

land.rhs:                                         ; preds = %is_fresh.exit, %land.lhs.true, %if.end
  %data_of_tensor = getelementptr inbounds i8, ptr %known, i64 216
  %22 = load i64, ptr %data_of_tensor, align 8
  %add.ptr8 = getelementptr inbounds i8, ptr %object, i64 %22
  %23 = load ptr, ptr %add.ptr8, align 8
  %ob_type.i25 = getelementptr inbounds i8, ptr %23, i64 8
  %24 = load ptr, ptr %ob_type.i25, align 8
  %25 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx = getelementptr inbounds i8, ptr %25, i64 16
  %26 = load ptr, ptr %arrayidx, align 8
  %cmp10 = icmp eq ptr %24, %26
  %27 = zext i1 %cmp10 to i32
  br label %return

return:                                           ; preds = %cond.true.i, %cond.false.i, %cond.end.i, %lor.lhs.false.i, %lor.lhs.false10.i, %is_fresh.exit, %land.rhs, %entry
  %retval.0 = phi i32 [ 0, %entry ], [ 0, %is_fresh.exit ], [ %27, %land.rhs ], [ 0, %lor.lhs.false10.i ], [ 0, %lor.lhs.false.i ], [ 0, %cond.end.i ], [ 0, %cond.false.i ], [ 0, %cond.true.i ]
  ret i32 %retval.0
}

declare ptr @PyTuple_New(i64 noundef) local_unnamed_addr #3

declare i32 @PyTuple_SetItem(ptr noundef, i64 noundef, ptr noundef) local_unnamed_addr #3

define ptr @NAME_known(ptr nocapture noundef readonly %self, ptr nocapture noundef readonly %args, i64 noundef %given, ptr noundef %names) local_unnamed_addr #0 {
entry:
  %both = alloca %struct.nodes, align 8
  %data.i = getelementptr inbounds i8, ptr %self, i64 16
  %0 = load ptr, ptr %data.i, align 8
  %cmp = icmp eq ptr %names, null
  br i1 %cmp, label %cond.end, label %cond.false

cond.false:                                       ; preds = %entry
  %call1 = tail call i64 @PyTuple_Size(ptr noundef nonnull %names) #8
  br label %cond.end

cond.end:                                         ; preds = %entry, %cond.false
  %cond = phi i64 [ %call1, %cond.false ], [ 0, %entry ]
  %add = add i64 %cond, %given
  %cmp2 = icmp slt i64 %given, 1
  %.pre = load ptr, ptr %0, align 8
  br i1 %cmp2, label %if.then, label %lor.lhs.false

lor.lhs.false:                                    ; preds = %cond.end
  %1 = load ptr, ptr %args, align 8
  %ob_type.i = getelementptr inbounds i8, ptr %1, i64 8
  %2 = load ptr, ptr %ob_type.i, align 8
  %3 = load ptr, ptr %.pre, align 8
  %cmp4.not = icmp eq ptr %2, %3
  br i1 %cmp4.not, label %for.cond.preheader, label %if.then

for.cond.preheader:                               ; preds = %lor.lhs.false
  %cmp7.not91 = icmp sgt i64 %add, 1
  br i1 %cmp7.not91, label %for.body.lr.ph, label %for.end

for.body.lr.ph:                                   ; preds = %for.cond.preheader
  %none.i = getelementptr inbounds i8, ptr %.pre, i64 32
  %4 = load ptr, ptr %none.i, align 8
  br label %for.body

if.then:                                          ; preds = %lor.lhs.false, %cond.end
  %none = getelementptr inbounds i8, ptr %.pre, i64 32
  %5 = load ptr, ptr %none, align 8
  tail call void @Py_IncRef(ptr noundef %5) #8
  br label %cleanup60

for.body:                                         ; preds = %for.body.lr.ph, %for.inc
  %k.092 = phi i64 [ 1, %for.body.lr.ph ], [ %inc, %for.inc ]
  %arrayidx9 = getelementptr inbounds ptr, ptr %args, i64 %k.092
  %6 = load ptr, ptr %arrayidx9, align 8
  %cmp.i = icmp eq ptr %4, %6
  br i1 %cmp.i, label %for.inc, label %lor.lhs.false.i

lor.lhs.false.i:                                  ; preds = %for.body
  %ob_type.i.i.i = getelementptr inbounds i8, ptr %6, i64 8
  %7 = load ptr, ptr %ob_type.i.i.i, align 8
  %cmp.i.not.i = icmp eq ptr %7, @PyLong_Type
  %cmp.i10.not.i = icmp eq ptr %7, @PyBool_Type
  %or.cond.i = or i1 %cmp.i.not.i, %cmp.i10.not.i
  %cmp.i13.i.not = icmp eq ptr %7, @PyUnicode_Type
  %or.cond = or i1 %cmp.i13.i.not, %or.cond.i
  br i1 %or.cond, label %for.inc, label %cleanup.thread

cleanup.thread:                                   ; preds = %lor.lhs.false.i
  tail call void @Py_IncRef(ptr noundef %4) #8
  br label %cleanup60

for.inc:                                          ; preds = %for.body, %lor.lhs.false.i
  %inc = add nuw nsw i64 %k.092, 1
  %exitcond.not = icmp eq i64 %inc, %add
  br i1 %exitcond.not, label %for.end, label %for.body

for.end:                                          ; preds = %for.inc, %for.cond.preheader
  %add.ptr = getelementptr inbounds i8, ptr %args, i64 8
  %sub = add nsw i64 %given, -1
  br i1 %cmp, label %cond.end.i, label %cond.false.i

cond.false.i:                                     ; preds = %for.end
  %call.i = tail call i64 @PyTuple_Size(ptr noundef nonnull %names) #8
  br label %cond.end.i

cond.end.i:                                       ; preds = %cond.false.i, %for.end
  %cond.i = phi i64 [ %call.i, %cond.false.i ], [ 0, %for.end ]
  %mul.i = shl nsw i64 %cond.i, 1
  %add.i = add nsw i64 %mul.i, 3
  %call1.i = tail call ptr @PyTuple_New(i64 noundef %add.i) #8
  %call2.i = tail call ptr @PyTuple_New(i64 noundef %sub) #8
  %call3.i = tail call ptr @PyTuple_New(i64 noundef %sub) #8
  %cmp4.i = icmp ne ptr %call1.i, null
  %cmp5.i = icmp ne ptr %call2.i, null
  %or.cond.i85 = select i1 %cmp4.i, i1 %cmp5.i, i1 false
  %cmp6.i = icmp ne ptr %call3.i, null
  %spec.select.i = select i1 %or.cond.i85, i1 %cmp6.i, i1 false
  br i1 %spec.select.i, label %if.end.i, label %if.then.i

if.then.i:                                        ; preds = %cond.end.i
  tail call void @Py_DecRef(ptr noundef %call1.i) #8
  tail call void @Py_DecRef(ptr noundef %call2.i) #8
  tail call void @Py_DecRef(ptr noundef %call3.i) #8
  br label %cleanup60

if.end.i:                                         ; preds = %cond.end.i
  %op7.i = getelementptr inbounds i8, ptr %0, i64 24
  %8 = load ptr, ptr %op7.i, align 8
  tail call void @Py_IncRef(ptr noundef %8) #8
  %call9.i = tail call i32 @PyTuple_SetItem(ptr noundef nonnull %call1.i, i64 noundef 0, ptr noundef %8) #8
  %call10.i = tail call i32 @PyTuple_SetItem(ptr noundef nonnull %call1.i, i64 noundef 1, ptr noundef nonnull %call2.i) #8
  %call11.i = tail call i32 @PyTuple_SetItem(ptr noundef nonnull %call1.i, i64 noundef 2, ptr noundef nonnull %call3.i) #8
  %cmp12102.i.not = icmp eq i64 %given, 1
  br i1 %cmp12102.i.not, label %for.cond20.preheader.i, label %for.body.i

for.cond20.preheader.i:                           ; preds = %for.body.i, %if.end.i
  %invariant.gep.i = getelementptr ptr, ptr %args, i64 %given
  %cmp21104.i = icmp sgt i64 %cond.i, 0
  br i1 %cmp21104.i, label %for.body27.lr.ph.i, label %if.end19

for.body27.lr.ph.i:                               ; preds = %for.cond20.preheader.i
  %add41.i = add nuw nsw i64 %cond.i, 3
  br label %for.body27.i

for.body.i:                                       ; preds = %if.end.i, %for.body.i
  %k.0103.i = phi i64 [ %inc.i, %for.body.i ], [ 0, %if.end.i ]
  %arrayidx.i = getelementptr inbounds ptr, ptr %add.ptr, i64 %k.0103.i
  %9 = load ptr, ptr %arrayidx.i, align 8
  tail call void @Py_IncRef(ptr noundef %9) #8
  %call14.i = tail call i32 @PyTuple_SetItem(ptr noundef nonnull %call2.i, i64 noundef %k.0103.i, ptr noundef %9) #8
  %10 = load ptr, ptr %arrayidx.i, align 8
  %ob_type.i.i = getelementptr inbounds i8, ptr %10, i64 8
  %11 = load ptr, ptr %ob_type.i.i, align 8
  tail call void @Py_IncRef(ptr noundef %11) #8
  %call18.i = tail call i32 @PyTuple_SetItem(ptr noundef nonnull %call3.i, i64 noundef %k.0103.i, ptr noundef %11) #8
  %inc.i = add nuw nsw i64 %k.0103.i, 1
  %exitcond.not.i = icmp eq i64 %inc.i, %sub
  br i1 %exitcond.not.i, label %for.cond20.preheader.i, label %for.body.i

for.body27.i:                                     ; preds = %if.end48.i, %for.body27.lr.ph.i
  %k19.0105.i = phi i64 [ 0, %for.body27.lr.ph.i ], [ %inc50.i, %if.end48.i ]
  %call28.i = tail call ptr @PyTuple_New(i64 noundef 2) #8
  %cmp29.i.not = icmp eq ptr %call28.i, null
  br i1 %cmp29.i.not, label %if.end54.i, label %if.end48.i

if.end48.i:                                       ; preds = %for.body27.i
  %call32.i = tail call ptr @PyTuple_GetItem(ptr noundef %names, i64 noundef %k19.0105.i) #8
  tail call void @Py_IncRef(ptr noundef %call32.i) #8
  %call34.i = tail call i32 @PyTuple_SetItem(ptr noundef nonnull %call28.i, i64 noundef 0, ptr noundef %call32.i) #8
  %gep.i = getelementptr ptr, ptr %invariant.gep.i, i64 %k19.0105.i
  %12 = load ptr, ptr %gep.i, align 8
  tail call void @Py_IncRef(ptr noundef %12) #8
  %call38.i = tail call i32 @PyTuple_SetItem(ptr noundef nonnull %call28.i, i64 noundef 1, ptr noundef %12) #8
  %add39.i = add nuw nsw i64 %k19.0105.i, 3
  %call40.i = tail call i32 @PyTuple_SetItem(ptr noundef nonnull %call1.i, i64 noundef %add39.i, ptr noundef nonnull %call28.i) #8
  %add42.i = add nuw nsw i64 %add41.i, %k19.0105.i
  %13 = load ptr, ptr %gep.i, align 8
  %ob_type.i101.i = getelementptr inbounds i8, ptr %13, i64 8
  %14 = load ptr, ptr %ob_type.i101.i, align 8
  tail call void @Py_IncRef(ptr noundef %14) #8
  %call47.i = tail call i32 @PyTuple_SetItem(ptr noundef nonnull %call1.i, i64 noundef %add42.i, ptr noundef %14) #8
  %inc50.i = add nuw nsw i64 %k19.0105.i, 1
  %exitcond93.not = icmp eq i64 %inc50.i, %cond.i
  br i1 %exitcond93.not, label %if.end19, label %for.body27.i

if.end54.i:                                       ; preds = %for.body27.i
  tail call void @Py_DecRef(ptr noundef nonnull %call1.i) #8
  br label %cleanup60

if.end19:                                         ; preds = %if.end48.i, %for.cond20.preheader.i
  %15 = load ptr, ptr %args, align 8
  %16 = load ptr, ptr %0, align 8
  %spec_of_tensor = getelementptr inbounds i8, ptr %16, i64 224
  %17 = load i64, ptr %spec_of_tensor, align 8
  %add.ptr22 = getelementptr inbounds i8, ptr %15, i64 %17
  %18 = load ptr, ptr %add.ptr22, align 8
  %known_of_spec = getelementptr inbounds i8, ptr %0, i64 72
  %19 = load i64, ptr %known_of_spec, align 8
  %add.ptr23 = getelementptr inbounds i8, ptr %18, i64 %19
  %20 = load ptr, ptr %add.ptr23, align 8
  %call24 = tail call ptr @PyDict_GetItemWithError(ptr noundef %20, ptr noundef nonnull %call1.i) #8
  tail call void @Py_DecRef(ptr noundef nonnull %call1.i) #8
  %cmp25 = icmp eq ptr %call24, null
  br i1 %cmp25, label %if.then26, label %if.end36

if.then26:                                        ; preds = %if.end19
  %call27 = tail call ptr @PyErr_Occurred() #8
  %tobool28.not = icmp eq ptr %call27, null
  br i1 %tobool28.not, label %cond.false30, label %cleanup60

cond.false30:                                     ; preds = %if.then26
  %21 = load ptr, ptr %0, align 8
  %none32 = getelementptr inbounds i8, ptr %21, i64 32
  %22 = load ptr, ptr %none32, align 8
  tail call void @Py_IncRef(ptr noundef %22) #8
  br label %cleanup60

if.end36:                                         ; preds = %if.end19
  call void @llvm.lifetime.start.p0(i64 16, ptr nonnull %both) #8
  %call37 = tail call ptr @PyTuple_New(i64 noundef 1) #8
  store ptr %call37, ptr %both, align 8
  %arrayinit.element = getelementptr inbounds i8, ptr %both, i64 8
  tail call void @Py_IncRef(ptr noundef nonnull %call24) #8
  store ptr %call24, ptr %arrayinit.element, align 8
  %cmp41.not = icmp eq ptr %call37, null
  br i1 %cmp41.not, label %if.end50, label %if.then42

if.then42:                                        ; preds = %if.end36
  %23 = load ptr, ptr %args, align 8
  tail call void @Py_IncRef(ptr noundef %23) #8
  %call47 = tail call i32 @PyTuple_SetItem(ptr noundef nonnull %call37, i64 noundef 0, ptr noundef %23) #8
  %call49 = call ptr @NAME_direct(ptr noundef %self, ptr noundef nonnull %both, i64 poison)
  br label %if.end50

if.end50:                                         ; preds = %if.then42, %if.end36
  %result.0 = phi ptr [ %call49, %if.then42 ], [ null, %if.end36 ]
  tail call void @Py_DecRef(ptr noundef %call37) #8
  tail call void @Py_DecRef(ptr noundef nonnull %call24) #8
  call void @llvm.lifetime.end.p0(i64 16, ptr nonnull %both) #8
  br label %cleanup60

cleanup60:                                        ; preds = %if.then.i, %if.end54.i, %cleanup.thread, %cond.false30, %if.then26, %if.end50, %if.then
  %retval.3 = phi ptr [ %5, %if.then ], [ %result.0, %if.end50 ], [ %22, %cond.false30 ], [ null, %if.then26 ], [ %4, %cleanup.thread ], [ null, %if.end54.i ], [ null, %if.then.i ]
  ret ptr %retval.3
}

declare ptr @PyDict_GetItemWithError(ptr noundef, ptr noundef) local_unnamed_addr #3

declare i32 @PyContextVar_Get(ptr noundef, ptr noundef, ptr noundef) local_unnamed_addr #3

declare double @PyFloat_AsDouble(ptr noundef) local_unnamed_addr #3

declare i32 @PyObject_Not(ptr noundef) local_unnamed_addr #3

declare void @llvm.memcpy.p0.p0.i64(ptr noalias nocapture writeonly, ptr noalias nocapture readonly, i64, i1 immarg) #5

define internal fastcc ptr @recorded(ptr nocapture noundef readonly %op, ptr noundef %kind, ptr noundef %spec, ptr nocapture noundef readonly %read, ptr noundef %out, ptr noundef %within) unnamed_addr #0 {
entry:
  %found = alloca %struct.nodes, align 8
  %0 = load ptr, ptr %op, align 8
  call void @llvm.lifetime.start.p0(i64 16, ptr nonnull %found) #8
  %operands = getelementptr inbounds i8, ptr %op, i64 24
  %1 = load i64, ptr %operands, align 8
  %cmp.not80 = icmp sgt i64 %1, 0
  br i1 %cmp.not80, label %for.body, label %for.end

for.body:                                         ; preds = %entry, %for.inc
  %k.081 = phi i64 [ %inc, %for.inc ], [ 0, %entry ]
  %arrayidx = getelementptr inbounds %struct.operand, ptr %read, i64 %k.081
  %2 = load ptr, ptr %arrayidx, align 8
  %call = tail call fastcc ptr @node_behind(ptr noundef %0, ptr noundef %2)
  %arrayidx2 = getelementptr inbounds ptr, ptr %found, i64 %k.081
  store ptr %call, ptr %arrayidx2, align 8
  %cmp4 = icmp eq ptr %call, null
  br i1 %cmp4, label %if.then, label %for.inc

if.then:                                          ; preds = %for.body
  %cmp5 = icmp eq i64 %k.081, 1
  br i1 %cmp5, label %if.then6, label %cleanup42

if.then6:                                         ; preds = %if.then
  %3 = load ptr, ptr %found, align 8
  tail call void @Py_DecRef(ptr noundef %3) #8
  br label %cleanup42

for.inc:                                          ; preds = %for.body
  %inc = add nuw nsw i64 %k.081, 1
  %4 = load i64, ptr %operands, align 8
  %cmp.not = icmp slt i64 %inc, %4
  br i1 %cmp.not, label %for.body, label %for.end

for.end:                                          ; preds = %for.inc, %entry
  %call9 = tail call fastcc ptr @new_tensor(ptr noundef %0, ptr noundef %out, ptr noundef %spec, ptr noundef %within)
  %cmp10 = icmp eq ptr %call9, null
  %.pre86 = load i64, ptr %operands, align 8
  br i1 %cmp10, label %if.then19, label %lor.lhs.false

lor.lhs.false:                                    ; preds = %for.end
  %5 = load ptr, ptr %found, align 8
  %none = getelementptr inbounds i8, ptr %0, i64 32
  %6 = load ptr, ptr %none, align 8
  %cmp12 = icmp eq ptr %5, %6
  br i1 %cmp12, label %land.lhs.true, label %lor.lhs.false.if.end31_crit_edge

lor.lhs.false.if.end31_crit_edge:                 ; preds = %lor.lhs.false
  %arrayidx3.i.phi.trans.insert = getelementptr inbounds i8, ptr %found, i64 8
  %.pre85 = load ptr, ptr %arrayidx3.i.phi.trans.insert, align 8
  br label %if.end31

land.lhs.true:                                    ; preds = %lor.lhs.false
  %cmp14 = icmp eq i64 %.pre86, 1
  %arrayidx16 = getelementptr inbounds i8, ptr %found, i64 8
  %7 = load ptr, ptr %arrayidx16, align 8
  %cmp18 = icmp eq ptr %7, %5
  %or.cond = select i1 %cmp14, i1 true, i1 %cmp18
  br i1 %or.cond, label %if.then19, label %if.end31

if.then19:                                        ; preds = %land.lhs.true, %for.end
  %cmp2382 = icmp sgt i64 %.pre86, 0
  br i1 %cmp2382, label %for.body25, label %cleanup42

for.body25:                                       ; preds = %if.then19, %for.body25
  %k20.083 = phi i64 [ %inc28, %for.body25 ], [ 0, %if.then19 ]
  %arrayidx26 = getelementptr inbounds ptr, ptr %found, i64 %k20.083
  %8 = load ptr, ptr %arrayidx26, align 8
  tail call void @Py_DecRef(ptr noundef %8) #8
  %inc28 = add nuw nsw i64 %k20.083, 1
  %9 = load i64, ptr %operands, align 8
  %cmp23 = icmp slt i64 %inc28, %9
  br i1 %cmp23, label %for.body25, label %cleanup42

if.end31:                                         ; preds = %lor.lhs.false.if.end31_crit_edge, %land.lhs.true
  %10 = phi ptr [ %.pre85, %lor.lhs.false.if.end31_crit_edge ], [ %7, %land.lhs.true ]
  %11 = load ptr, ptr %op, align 8
  %none.i = getelementptr inbounds i8, ptr %11, i64 32
  %12 = load ptr, ptr %none.i, align 8
  %cmp.not.i = icmp ne ptr %5, %12
  %cond.i = zext i1 %cmp.not.i to i64
  %cmp2.i = icmp eq i64 %.pre86, 2
  %cmp5.not.i = icmp eq ptr %10, %12
  %13 = select i1 %cmp5.not.i, i64 0, i64 2
  %cond6.i = select i1 %cmp2.i, i64 %13, i64 0
  %or.i = or disjoint i64 %cond6.i, %cond.i
  %call.i = tail call ptr @PyTuple_New(i64 noundef %.pre86) #8
  %cmp8.i = icmp eq ptr %call.i, null
  %14 = load i64, ptr %operands, align 8
  %cmp11131.i = icmp sgt i64 %14, 0
  br i1 %cmp8.i, label %for.cond.preheader.i, label %for.cond15.preheader.i

for.cond15.preheader.i:                           ; preds = %if.end31
  br i1 %cmp11131.i, label %for.body20.i, label %for.cond.cleanup19.i

for.cond.preheader.i:                             ; preds = %if.end31
  br i1 %cmp11131.i, label %for.body.i, label %if.then34

for.body.i:                                       ; preds = %for.cond.preheader.i, %for.body.i
  %k.0132.i = phi i64 [ %inc.i, %for.body.i ], [ 0, %for.cond.preheader.i ]
  %arrayidx13.i = getelementptr inbounds ptr, ptr %found, i64 %k.0132.i
  %15 = load ptr, ptr %arrayidx13.i, align 8
  tail call void @Py_DecRef(ptr noundef %15) #8
  %inc.i = add nuw nsw i64 %k.0132.i, 1
  %16 = load i64, ptr %operands, align 8
  %cmp11.i = icmp slt i64 %inc.i, %16
  br i1 %cmp11.i, label %for.body.i, label %if.then34

for.cond.cleanup19.i:                             ; preds = %for.body20.i, %for.cond15.preheader.i
  %call26.i = tail call ptr @PyType_GenericAlloc(ptr noundef %kind, i64 noundef 0) #8
  %cmp27.i = icmp eq ptr %call26.i, null
  br i1 %cmp27.i, label %if.then34.sink.split, label %if.end30.i

for.body20.i:                                     ; preds = %for.cond15.preheader.i, %for.body20.i
  %k14.0130.i = phi i64 [ %inc24.i, %for.body20.i ], [ 0, %for.cond15.preheader.i ]
  %arrayidx21.i = getelementptr inbounds ptr, ptr %found, i64 %k14.0130.i
  %17 = load ptr, ptr %arrayidx21.i, align 8
  %call22.i = tail call i32 @PyTuple_SetItem(ptr noundef nonnull %call.i, i64 noundef %k14.0130.i, ptr noundef %17) #8
  %inc24.i = add nuw nsw i64 %k14.0130.i, 1
  %18 = load i64, ptr %operands, align 8
  %cmp17.i = icmp slt i64 %inc24.i, %18
  br i1 %cmp17.i, label %for.body20.i, label %for.cond.cleanup19.i

if.end30.i:                                       ; preds = %for.cond.cleanup19.i
  %next_of_node.i = getelementptr inbounds i8, ptr %11, i64 264
  %19 = load i64, ptr %next_of_node.i, align 8
  %add.ptr.i = getelementptr inbounds i8, ptr %call26.i, i64 %19
  store ptr %call.i, ptr %add.ptr.i, align 8
  tail call void @Py_IncRef(ptr noundef %spec) #8
  %spec_of_node.i = getelementptr inbounds i8, ptr %11, i64 288
  %20 = load i64, ptr %spec_of_node.i, align 8
  %add.ptr32.i = getelementptr inbounds i8, ptr %call26.i, i64 %20
  store ptr %spec, ptr %add.ptr32.i, align 8
  %21 = load ptr, ptr %none.i, align 8
  tail call void @Py_IncRef(ptr noundef %21) #8
  %rare_of_node.i = getelementptr inbounds i8, ptr %11, i64 272
  %22 = load i64, ptr %rare_of_node.i, align 8
  %add.ptr35.i = getelementptr inbounds i8, ptr %call26.i, i64 %22
  store ptr %21, ptr %add.ptr35.i, align 8
  %out_data.i = getelementptr inbounds i8, ptr %op, i64 64
  %23 = load i64, ptr %out_data.i, align 8
  %cmp36.not.i = icmp eq i64 %23, 0
  br i1 %cmp36.not.i, label %if.end43.i, label %if.then38.i

if.then38.i:                                      ; preds = %if.end30.i
  %out_readers.i = getelementptr inbounds i8, ptr %op, i64 88
  %24 = load i64, ptr %out_readers.i, align 8
  %and.i = and i64 %24, %or.i
  %tobool.not.i = icmp eq i64 %and.i, 0
  br i1 %tobool.not.i, label %cond.false.i, label %cond.end.i

cond.false.i:                                     ; preds = %if.then38.i
  %not_saved.i = getelementptr inbounds i8, ptr %11, i64 56
  %25 = load ptr, ptr %not_saved.i, align 8
  br label %cond.end.i

cond.end.i:                                       ; preds = %cond.false.i, %if.then38.i
  %cond39.i = phi ptr [ %25, %cond.false.i ], [ %out, %if.then38.i ]
  tail call void @Py_IncRef(ptr noundef %cond39.i) #8
  %26 = load i64, ptr %out_data.i, align 8
  %add.ptr42.i = getelementptr inbounds i8, ptr %call26.i, i64 %26
  store ptr %cond39.i, ptr %add.ptr42.i, align 8
  br label %if.end43.i

if.end43.i:                                       ; preds = %cond.end.i, %if.end30.i
  %x_data.i = getelementptr inbounds i8, ptr %op, i64 32
  %27 = load i64, ptr %x_data.i, align 8
  %x_epoch.i = getelementptr inbounds i8, ptr %op, i64 40
  %28 = load i64, ptr %x_epoch.i, align 8
  %x_readers.i = getelementptr inbounds i8, ptr %op, i64 72
  %29 = load i64, ptr %x_readers.i, align 8
  %and45.i = and i64 %29, %or.i
  %cmp46.i = icmp ne i64 %and45.i, 0
  %conv47.i = zext i1 %cmp46.i to i32
  %call48.i = tail call fastcc i32 @save(ptr noundef nonnull %11, ptr noundef nonnull %call26.i, i64 noundef %27, i64 noundef %28, ptr noundef readonly %read, i32 noundef %conv47.i)
  %cmp49.i = icmp slt i32 %call48.i, 0
  br i1 %cmp49.i, label %if.then34.sink.split, label %lor.rhs.i

lor.rhs.i:                                        ; preds = %if.end43.i
  %30 = load i64, ptr %operands, align 8
  %cmp52.i = icmp eq i64 %30, 2
  br i1 %cmp52.i, label %land.rhs54.i, label %cond.end67.i

land.rhs54.i:                                     ; preds = %lor.rhs.i
  %y_data.i = getelementptr inbounds i8, ptr %op, i64 48
  %31 = load i64, ptr %y_data.i, align 8
  %y_epoch.i = getelementptr inbounds i8, ptr %op, i64 56
  %32 = load i64, ptr %y_epoch.i, align 8
  %arrayidx55.i = getelementptr inbounds i8, ptr %read, i64 16
  %y_readers.i = getelementptr inbounds i8, ptr %op, i64 80
  %33 = load i64, ptr %y_readers.i, align 8
  %and56.i = and i64 %33, %or.i
  %cmp57.i = icmp ne i64 %and56.i, 0
  %conv58.i = zext i1 %cmp57.i to i32
  %call59.i = tail call fastcc i32 @save(ptr noundef nonnull %11, ptr noundef nonnull %call26.i, i64 noundef %31, i64 noundef %32, ptr noundef nonnull readonly %arrayidx55.i, i32 noundef %conv58.i)
  %cmp60.i = icmp slt i32 %call59.i, 0
  br i1 %cmp60.i, label %if.then34.sink.split, label %cond.end67.i

cond.end67.i:                                     ; preds = %land.rhs54.i, %lor.rhs.i
  %clock.i = getelementptr inbounds i8, ptr %11, i64 96
  %34 = load ptr, ptr %clock.i, align 8
  %call66.i = tail call ptr @PyObject_CallNoArgs(ptr noundef %34) #8
  %cmp69.i = icmp eq ptr %call66.i, null
  br i1 %cmp69.i, label %if.then34.sink.split, label %if.end35

if.then34.sink.split:                             ; preds = %if.end43.i, %land.rhs54.i, %cond.end67.i, %for.cond.cleanup19.i
  %call.i.sink = phi ptr [ %call.i, %for.cond.cleanup19.i ], [ %call26.i, %cond.end67.i ], [ %call26.i, %land.rhs54.i ], [ %call26.i, %if.end43.i ]
  tail call void @Py_DecRef(ptr noundef nonnull %call.i.sink) #8
  br label %if.then34

if.then34:                                        ; preds = %for.body.i, %if.then34.sink.split, %for.cond.preheader.i
  tail call void @Py_DecRef(ptr noundef nonnull %call9) #8
  br label %cleanup42

if.end35:                                         ; preds = %cond.end67.i
  %seq_of_node.i = getelementptr inbounds i8, ptr %11, i64 280
  %35 = load i64, ptr %seq_of_node.i, align 8
  %add.ptr73.i = getelementptr inbounds i8, ptr %call26.i, i64 %35
  store ptr %call66.i, ptr %add.ptr73.i, align 8
  %node_of_tensor = getelementptr inbounds i8, ptr %0, i64 232
  %36 = load i64, ptr %node_of_tensor, align 8
  %add.ptr = getelementptr inbounds i8, ptr %call9, i64 %36
  %37 = load ptr, ptr %add.ptr, align 8
  store ptr %call26.i, ptr %add.ptr, align 8
  tail call void @Py_DecRef(ptr noundef %37) #8
  br label %cleanup42

cleanup42:                                        ; preds = %for.body25, %if.then19, %if.then6, %if.then, %if.end35, %if.then34
  %retval.3 = phi ptr [ null, %if.then34 ], [ %call9, %if.end35 ], [ null, %if.then ], [ null, %if.then6 ], [ %call9, %if.then19 ], [ %call9, %for.body25 ]
  call void @llvm.lifetime.end.p0(i64 16, ptr nonnull %found) #8
  ret ptr %retval.3
}

define internal fastcc ptr @spec_for(ptr nocapture noundef readonly %known, ptr nocapture noundef readonly %out) unnamed_addr #0 {
entry:
  %descr.i = getelementptr inbounds i8, ptr %out, i64 56
  %0 = load ptr, ptr %descr.i, align 8
  %nd.i = getelementptr inbounds i8, ptr %out, i64 24
  %1 = load i32, ptr %nd.i, align 8
  %cmp = icmp sgt i32 %1, 4
  br i1 %cmp, label %if.then, label %if.end

if.then:                                          ; preds = %entry
  %call3 = tail call fastcc ptr @spec_asked_for(ptr noundef %known, ptr noundef nonnull %out)
  br label %cleanup44

if.end:                                           ; preds = %entry
  %type_num = getelementptr inbounds i8, ptr %0, i64 28
  %2 = load i32, ptr %type_num, align 4
  %conv84 = zext i32 %2 to i64
  %cmp580 = icmp sgt i32 %1, 0
  br i1 %cmp580, label %for.body.lr.ph, label %for.cond.cleanup

for.body.lr.ph:                                   ; preds = %if.end
  %dimensions.i = getelementptr inbounds i8, ptr %out, i64 32
  %3 = load ptr, ptr %dimensions.i, align 8
  %wide.trip.count = zext nneg i32 %1 to i64
  br label %for.body

for.cond.cleanup:                                 ; preds = %for.body, %if.end
  %place.0.lcssa = phi i64 [ %conv84, %if.end ], [ %add8, %for.body ]
  %rem = and i64 %place.0.lcssa, 255
  %arrayidx9 = getelementptr inbounds [256 x %struct.known_spec], ptr @known_specs, i64 0, i64 %rem
  %4 = load ptr, ptr %arrayidx9, align 8
  %cmp10.not = icmp eq ptr %4, null
  br i1 %cmp10.not, label %if.end20, label %land.lhs.true

for.body:                                         ; preds = %for.body.lr.ph, %for.body
  %indvars.iv = phi i64 [ 0, %for.body.lr.ph ], [ %indvars.iv.next, %for.body ]
  %place.082 = phi i64 [ %conv84, %for.body.lr.ph ], [ %add8, %for.body ]
  %mul = mul i64 %place.082, 31
  %arrayidx = getelementptr inbounds i64, ptr %3, i64 %indvars.iv
  %5 = load i64, ptr %arrayidx, align 8
  %add = add i64 %mul, 1
  %add8 = add i64 %add, %5
  %indvars.iv.next = add nuw nsw i64 %indvars.iv, 1
  %exitcond.not = icmp eq i64 %indvars.iv.next, %wide.trip.count
  br i1 %exitcond.not, label %for.cond.cleanup, label %for.body

land.lhs.true:                                    ; preds = %for.cond.cleanup
  %dtype = getelementptr inbounds i8, ptr %arrayidx9, i64 8
  %6 = load ptr, ptr %dtype, align 8
  %cmp13 = icmp eq ptr %6, %0
  br i1 %cmp13, label %land.lhs.true15, label %if.end20

land.lhs.true15:                                  ; preds = %land.lhs.true
  %ndim = getelementptr inbounds i8, ptr %arrayidx9, i64 16
  %7 = load i64, ptr %ndim, align 8
  %conv.i = sext i32 %1 to i64
  %cmp.i = icmp eq i64 %7, %conv.i
  br i1 %cmp.i, label %has_lengths.exit, label %if.end20

has_lengths.exit:                                 ; preds = %land.lhs.true15
  %lengths = getelementptr inbounds i8, ptr %arrayidx9, i64 24
  %dimensions.i.i = getelementptr inbounds i8, ptr %out, i64 32
  %8 = load ptr, ptr %dimensions.i.i, align 8
  %mul.i = shl nsw i64 %7, 3
  %bcmp.i = tail call i32 @bcmp(ptr %8, ptr nonnull readonly %lengths, i64 %mul.i)
  %cmp4.i.not = icmp eq i32 %bcmp.i, 0
  br i1 %cmp4.i.not, label %if.then17, label %if.end20

if.then17:                                        ; preds = %has_lengths.exit
  tail call void @Py_IncRef(ptr noundef nonnull %4) #8
  br label %cleanup44

if.end20:                                         ; preds = %land.lhs.true15, %has_lengths.exit, %land.lhs.true, %for.cond.cleanup
  %call22 = tail call fastcc ptr @spec_asked_for(ptr noundef %known, ptr noundef nonnull %out)
  %cmp23.not = icmp eq ptr %call22, null
  br i1 %cmp23.not, label %cleanup44, label %if.then25

if.then25:                                        ; preds = %if.end20
  %9 = load ptr, ptr %arrayidx9, align 8
  %dtype28 = getelementptr inbounds i8, ptr %arrayidx9, i64 8
  %10 = load ptr, ptr %dtype28, align 8
  tail call void @Py_IncRef(ptr noundef nonnull %call22) #8
  store ptr %call22, ptr %arrayidx9, align 8
  %11 = load ptr, ptr %descr.i, align 8
  tail call void @Py_IncRef(ptr noundef %11) #8
  store ptr %11, ptr %dtype28, align 8
  %12 = load i32, ptr %nd.i, align 8
  %conv35 = sext i32 %12 to i64
  %ndim36 = getelementptr inbounds i8, ptr %arrayidx9, i64 16
  store i64 %conv35, ptr %ndim36, align 8
  %lengths37 = getelementptr inbounds i8, ptr %arrayidx9, i64 24
  %dimensions.i76 = getelementptr inbounds i8, ptr %out, i64 32
  %13 = load ptr, ptr %dimensions.i76, align 8
  %14 = load i32, ptr %nd.i, align 8
  %conv41 = sext i32 %14 to i64
  %mul42 = shl nsw i64 %conv41, 3
  tail call void @llvm.memcpy.p0.p0.i64(ptr nonnull align 8 %lengths37, ptr align 8 %13, i64 %mul42, i1 false)
  tail call void @Py_DecRef(ptr noundef %9) #8
  tail call void @Py_DecRef(ptr noundef %10) #8
  br label %cleanup44

cleanup44:                                        ; preds = %if.then17, %if.then25, %if.end20, %if.then
  %retval.1 = phi ptr [ %call3, %if.then ], [ %4, %if.then17 ], [ %call22, %if.then25 ], [ null, %if.end20 ]
  ret ptr %retval.1
}

define internal fastcc ptr @node_behind(ptr nocapture noundef readonly %known, ptr noundef %tensor) unnamed_addr #0 {
entry:
  %tensor.addr = alloca ptr, align 8
  store ptr %tensor, ptr %tensor.addr, align 8
  %cmp = icmp eq ptr %tensor, null
  br i1 %cmp, label %cond.true, label %cond.false

cond.true:                                        ; preds = %entry
  %none = getelementptr inbounds i8, ptr %known, i64 32
  br label %cond.end

cond.false:                                       ; preds = %entry
  %node_of_tensor = getelementptr inbounds i8, ptr %known, i64 232
  %0 = load i64, ptr %node_of_tensor, align 8
  %add.ptr = getelementptr inbounds i8, ptr %tensor, i64 %0
  br label %cond.end

cond.end:                                         ; preds = %cond.false, %cond.true
  %cond.in = phi ptr [ %none, %cond.true ], [ %add.ptr, %cond.false ]
  %cond = load ptr, ptr %cond.in, align 8
  %ob_type.i = getelementptr inbounds i8, ptr %cond, i64 8
  %1 = load ptr, ptr %ob_type.i, align 8
  %leaf = getelementptr inbounds i8, ptr %known, i64 8
  %2 = load ptr, ptr %leaf, align 8
  %cmp1.not = icmp eq ptr %1, %2
  br i1 %cmp1.not, label %if.end, label %if.then

if.then:                                          ; preds = %cond.end
  tail call void @Py_IncRef(ptr noundef nonnull %cond) #8
  br label %cleanup15

if.end:                                           ; preds = %cond.end
  %reference_of_leaf = getelementptr inbounds i8, ptr %known, i64 168
  %3 = load i64, ptr %reference_of_leaf, align 8
  %add.ptr3 = getelementptr inbounds i8, ptr %cond, i64 %3
  %4 = load ptr, ptr %add.ptr3, align 8
  %none4 = getelementptr inbounds i8, ptr %known, i64 32
  %5 = load ptr, ptr %none4, align 8
  %cmp5.not = icmp eq ptr %4, %5
  br i1 %cmp5.not, label %if.end12, label %if.then6

if.then6:                                         ; preds = %if.end
  tail call void @Py_IncRef(ptr noundef %4) #8
  %call7 = tail call ptr @PyObject_CallNoArgs(ptr noundef %4) #8
  tail call void @Py_DecRef(ptr noundef %4) #8
  %6 = load ptr, ptr %none4, align 8
  %cmp9.not = icmp eq ptr %call7, %6
  br i1 %cmp9.not, label %if.end11, label %cleanup15

if.end11:                                         ; preds = %if.then6
  tail call void @Py_DecRef(ptr noundef %call7) #8
  br label %if.end12

if.end12:                                         ; preds = %if.end11, %if.end
  %accumulator_of = getelementptr inbounds i8, ptr %known, i64 104
  %7 = load ptr, ptr %accumulator_of, align 8
  %call13 = call ptr @PyObject_Vectorcall(ptr noundef %7, ptr noundef nonnull %tensor.addr, i64 noundef 1, ptr noundef null) #8
  br label %cleanup15

cleanup15:                                        ; preds = %if.end12, %if.then6, %if.then
  %retval.2 = phi ptr [ %cond, %if.then ], [ %call13, %if.end12 ], [ %call7, %if.then6 ]
  ret ptr %retval.2
}

define internal fastcc ptr @new_tensor(ptr nocapture noundef readonly %known, ptr noundef %out, ptr noundef %spec, ptr noundef %within) unnamed_addr #0 {
entry:
  %0 = load ptr, ptr %known, align 8
  %call = tail call ptr @PyType_GenericAlloc(ptr noundef %0, i64 noundef 0) #8
  %cmp = icmp eq ptr %call, null
  br i1 %cmp, label %cleanup, label %if.end

if.end:                                           ; preds = %entry
  tail call void @Py_IncRef(ptr noundef %out) #8
  %data_of_tensor = getelementptr inbounds i8, ptr %known, i64 216
  %1 = load i64, ptr %data_of_tensor, align 8
  %add.ptr = getelementptr inbounds i8, ptr %call, i64 %1
  store ptr %out, ptr %add.ptr, align 8
  tail call void @Py_IncRef(ptr noundef %spec) #8
  %spec_of_tensor = getelementptr inbounds i8, ptr %known, i64 224
  %2 = load i64, ptr %spec_of_tensor, align 8
  %add.ptr4 = getelementptr inbounds i8, ptr %call, i64 %2
  store ptr %spec, ptr %add.ptr4, align 8
  %none = getelementptr inbounds i8, ptr %known, i64 32
  %3 = load ptr, ptr %none, align 8
  tail call void @Py_IncRef(ptr noundef %3) #8
  %node_of_tensor = getelementptr inbounds i8, ptr %known, i64 232
  %4 = load i64, ptr %node_of_tensor, align 8
  %add.ptr6 = getelementptr inbounds i8, ptr %call, i64 %4
  store ptr %3, ptr %add.ptr6, align 8
  %5 = load ptr, ptr %none, align 8
  tail call void @Py_IncRef(ptr noundef %5) #8
  %counter_of_tensor = getelementptr inbounds i8, ptr %known, i64 240
  %6 = load i64, ptr %counter_of_tensor, align 8
  %add.ptr9 = getelementptr inbounds i8, ptr %call, i64 %6
  store ptr %5, ptr %add.ptr9, align 8
  tail call void @Py_IncRef(ptr noundef %within) #8
  %extra_of_tensor = getelementptr inbounds i8, ptr %known, i64 248
  %7 = load i64, ptr %extra_of_tensor, align 8
  %add.ptr11 = getelementptr inbounds i8, ptr %call, i64 %7
  store ptr %within, ptr %add.ptr11, align 8
  %8 = load ptr, ptr %none, align 8
  tail call void @Py_IncRef(ptr noundef %8) #8
  %meta_of_tensor = getelementptr inbounds i8, ptr %known, i64 256
  %9 = load i64, ptr %meta_of_tensor, align 8
  %add.ptr14 = getelementptr inbounds i8, ptr %call, i64 %9
  store ptr %8, ptr %add.ptr14, align 8
  br label %cleanup

cleanup:                                          ; preds = %entry, %if.end
  ret ptr %call
}

declare ptr @PyObject_CallNoArgs(ptr noundef) local_unnamed_addr #3

declare ptr @PyObject_Vectorcall(ptr noundef, ptr noundef, i64 noundef, ptr noundef) local_unnamed_addr #3

declare ptr @PyType_GenericAlloc(ptr noundef, i64 noundef) local_unnamed_addr #3

define internal fastcc noundef i32 @save(ptr nocapture noundef readonly %known, ptr nocapture noundef writeonly %node, i64 noundef %data, i64 noundef %epoch, ptr nocapture noundef readonly %read, i32 noundef %wanted) unnamed_addr #0 {
entry:
  %given = alloca %struct.nodes, align 8
  %cmp = icmp eq i64 %data, 0
  br i1 %cmp, label %return, label %if.end

if.end:                                           ; preds = %entry
  %unwritten = getelementptr inbounds i8, ptr %known, i64 48
  %0 = load ptr, ptr %unwritten, align 8
  %tobool.not = icmp eq i32 %wanted, 0
  br i1 %tobool.not, label %cond.false26, label %land.lhs.true

land.lhs.true:                                    ; preds = %if.end
  %1 = load ptr, ptr %read, align 8
  %cmp1.not = icmp eq ptr %1, null
  br i1 %cmp1.not, label %cond.true24, label %if.then2

if.then2:                                         ; preds = %land.lhs.true
  %counter_of_tensor = getelementptr inbounds i8, ptr %known, i64 240
  %2 = load i64, ptr %counter_of_tensor, align 8
  %add.ptr = getelementptr inbounds i8, ptr %1, i64 %2
  %3 = load ptr, ptr %add.ptr, align 8
  %none = getelementptr inbounds i8, ptr %known, i64 32
  %4 = load ptr, ptr %none, align 8
  %cmp4 = icmp eq ptr %3, %4
  br i1 %cmp4, label %cond.true24, label %cond.end

cond.end:                                         ; preds = %if.then2
  %epoch_of_counter = getelementptr inbounds i8, ptr %known, i64 176
  %5 = load i64, ptr %epoch_of_counter, align 8
  %add.ptr6 = getelementptr inbounds i8, ptr %3, i64 %5
  %6 = load ptr, ptr %add.ptr6, align 8
  %cmp8.not = icmp eq ptr %6, %4
  br i1 %cmp8.not, label %cond.true24, label %if.then9

if.then9:                                         ; preds = %cond.end
  call void @llvm.lifetime.start.p0(i64 16, ptr nonnull %given) #8
  store ptr %6, ptr %given, align 8
  %arrayinit.element = getelementptr inbounds i8, ptr %given, i64 8
  %saved = getelementptr inbounds i8, ptr %read, i64 8
  %7 = load ptr, ptr %saved, align 8
  store ptr %7, ptr %arrayinit.element, align 8
  %hold = getelementptr inbounds i8, ptr %known, i64 64
  %8 = load ptr, ptr %hold, align 8
  %call = call ptr @PyObject_VectorcallMethod(ptr noundef %8, ptr noundef nonnull %given, i64 noundef 2, ptr noundef null) #8
  %cmp11 = icmp eq ptr %call, null
  br i1 %cmp11, label %cleanup19, label %if.end13

if.end13:                                         ; preds = %if.then9
  %add.ptr14 = getelementptr inbounds i8, ptr %node, i64 %epoch
  store ptr %call, ptr %add.ptr14, align 8
  %9 = load ptr, ptr %saved, align 8
  call void @Py_IncRef(ptr noundef %9) #8
  %add.ptr17 = getelementptr inbounds i8, ptr %node, i64 %data
  store ptr %9, ptr %add.ptr17, align 8
  br label %cleanup19

cleanup19:                                        ; preds = %if.end13, %if.then9
  %retval.0 = phi i32 [ 0, %if.end13 ], [ -1, %if.then9 ]
  call void @llvm.lifetime.end.p0(i64 16, ptr nonnull %given) #8
  br label %return

cond.true24:                                      ; preds = %if.then2, %cond.end, %land.lhs.true
  %since.1 = phi ptr [ %0, %land.lhs.true ], [ %6, %cond.end ], [ %4, %if.then2 ]
  tail call void @Py_IncRef(ptr noundef %since.1) #8
  %add.ptr22 = getelementptr inbounds i8, ptr %node, i64 %epoch
  store ptr %since.1, ptr %add.ptr22, align 8
  %saved25 = getelementptr inbounds i8, ptr %read, i64 8
  br label %cond.end28

cond.false26:                                     ; preds = %if.end
  tail call void @Py_IncRef(ptr noundef %0) #8
  %add.ptr22.c = getelementptr inbounds i8, ptr %node, i64 %epoch
  store ptr %0, ptr %add.ptr22.c, align 8
  %none27 = getelementptr inbounds i8, ptr %known, i64 32
  br label %cond.end28

cond.end28:                                       ; preds = %cond.false26, %cond.true24
  %cond29.in = phi ptr [ %saved25, %cond.true24 ], [ %none27, %cond.false26 ]
  %cond29 = load ptr, ptr %cond29.in, align 8
  tail call void @Py_IncRef(ptr noundef %cond29) #8
  %add.ptr31 = getelementptr inbounds i8, ptr %node, i64 %data
  store ptr %cond29, ptr %add.ptr31, align 8
  br label %return

return:                                           ; preds = %cleanup19, %cond.end28, %entry
  %retval.3 = phi i32 [ 0, %entry ], [ 0, %cond.end28 ], [ %retval.0, %cleanup19 ]
  ret i32 %retval.3
}

declare ptr @PyObject_VectorcallMethod(ptr noundef, ptr noundef, i64 noundef, ptr noundef) local_unnamed_addr #3

define internal fastcc ptr @spec_asked_for(ptr nocapture noundef readonly %known, ptr nocapture noundef readonly %out) unnamed_addr #0 {
entry:
  %given = alloca %struct.nodes, align 8
  call void @llvm.lifetime.start.p0(i64 16, ptr nonnull %given) #8
  %nd.i = getelementptr inbounds i8, ptr %out, i64 24
  %0 = load i32, ptr %nd.i, align 8
  %conv = sext i32 %0 to i64
  %call1 = tail call ptr @PyTuple_New(i64 noundef %conv) #8
  store ptr %call1, ptr %given, align 8
  %arrayinit.element = getelementptr inbounds i8, ptr %given, i64 8
  %descr.i = getelementptr inbounds i8, ptr %out, i64 56
  %1 = load ptr, ptr %descr.i, align 8
  store ptr %1, ptr %arrayinit.element, align 8
  %cmp.not = icmp eq ptr %call1, null
  br i1 %cmp.not, label %if.end23, label %land.rhs.lr.ph

land.rhs.lr.ph:                                   ; preds = %entry
  %dimensions.i = getelementptr inbounds i8, ptr %out, i64 32
  %2 = load i32, ptr %nd.i, align 8
  %cmp655 = icmp sgt i32 %2, 0
  br i1 %cmp655, label %for.body, label %land.lhs.true

for.body:                                         ; preds = %land.rhs.lr.ph, %for.inc
  %indvars.iv56 = phi i64 [ %indvars.iv.next, %for.inc ], [ 0, %land.rhs.lr.ph ]
  %3 = load ptr, ptr %dimensions.i, align 8
  %arrayidx9 = getelementptr inbounds i64, ptr %3, i64 %indvars.iv56
  %4 = load i64, ptr %arrayidx9, align 8
  %call10 = tail call ptr @PyLong_FromSsize_t(i64 noundef %4) #8
  %cmp11 = icmp eq ptr %call10, null
  br i1 %cmp11, label %for.body.land.lhs.true_crit_edge, label %for.inc

for.body.land.lhs.true_crit_edge:                 ; preds = %for.body
  %.pre = load i32, ptr %nd.i, align 8
  br label %land.lhs.true

for.inc:                                          ; preds = %for.body
  %call14 = tail call i32 @PyTuple_SetItem(ptr noundef nonnull %call1, i64 noundef %indvars.iv56, ptr noundef nonnull %call10) #8
  %indvars.iv.next = add nuw nsw i64 %indvars.iv56, 1
  %5 = load i32, ptr %nd.i, align 8
  %6 = sext i32 %5 to i64
  %cmp6 = icmp slt i64 %indvars.iv.next, %6
  br i1 %cmp6, label %for.body, label %land.lhs.true

land.lhs.true:                                    ; preds = %for.inc, %land.rhs.lr.ph, %for.body.land.lhs.true_crit_edge
  %indvars.iv54 = phi i64 [ %indvars.iv56, %for.body.land.lhs.true_crit_edge ], [ 0, %land.rhs.lr.ph ], [ %indvars.iv.next, %for.inc ]
  %7 = phi i32 [ %.pre, %for.body.land.lhs.true_crit_edge ], [ %2, %land.rhs.lr.ph ], [ %5, %for.inc ]
  %8 = trunc i64 %indvars.iv54 to i32
  %cmp18 = icmp eq i32 %7, %8
  br i1 %cmp18, label %if.then20, label %if.end23

if.then20:                                        ; preds = %land.lhs.true
  %spec_for = getelementptr inbounds i8, ptr %known, i64 112
  %9 = load ptr, ptr %spec_for, align 8
  %call22 = call ptr @PyObject_Vectorcall(ptr noundef %9, ptr noundef nonnull %given, i64 noundef 2, ptr noundef null) #8
  br label %if.end23

if.end23:                                         ; preds = %entry, %if.then20, %land.lhs.true
  %spec.0 = phi ptr [ %call22, %if.then20 ], [ null, %land.lhs.true ], [ null, %entry ]
  call void @Py_DecRef(ptr noundef %call1) #8
  call void @llvm.lifetime.end.p0(i64 16, ptr nonnull %given) #8
  ret ptr %spec.0
}

declare ptr @PyLong_FromSsize_t(i64 noundef) local_unnamed_addr #3

declare i32 @PyObject_IsTrue(ptr noundef) local_unnamed_addr #3

declare i32 @PyObject_RichCompareBool(ptr noundef, ptr noundef, i32 noundef) local_unnamed_addr #3

declare ptr @PyDict_Values(ptr noundef) local_unnamed_addr #3

declare i64 @PyList_Size(ptr noundef) local_unnamed_addr #3

declare ptr @PyLong_FromVoidPtr(ptr noundef) local_unnamed_addr #3

declare ptr @PyList_GetItem(ptr noundef, i64 noundef) local_unnamed_addr #3

declare i32 @PyErr_ExceptionMatches(ptr noundef) local_unnamed_addr #3

declare void @PyErr_Clear() local_unnamed_addr #3

declare ptr @PyObject_Call(ptr noundef, ptr noundef, ptr noundef) local_unnamed_addr #3

declare i32 @PyType_IsSubtype(ptr noundef, ptr noundef) local_unnamed_addr #3

declare i32 @llvm.smax.i32(i32, i32) #6

declare i32 @bcmp(ptr nocapture, ptr nocapture, i64) local_unnamed_addr #7

attributes #0 = { nounwind }
attributes #1 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #3 = { nounwind }
attributes #4 = { nounwind }
attributes #5 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite) }
attributes #6 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #7 = { nofree nounwind willreturn memory(argmem: read) }
attributes #8 = { nounwind }
