; Made from c/tape.c by `make native`.

%struct._typeobject = type opaque
%struct.nodes = type { [2 x ptr] }
%struct.axes = type { [6 x %struct.axis] }
%struct.axis = type { i64, [3 x i64], i64 }
%struct.lengths = type { [6 x i64] }
%struct.steps = type { [6 x i64] }
%struct.loop = type { [3 x ptr], [3 x i64] }
%struct.operand_steps = type { [3 x ptr] }
%struct.operands = type { [2 x %struct.operand] }
%struct.operand = type { ptr, ptr, ptr, i64, double, float }
%struct.slots = type { i64, i64, i64 }

@pullback_numpy = external local_unnamed_addr global ptr, align 8
@PyFloat_Type = external global %struct._typeobject, align 1
@PyLong_Type = external global %struct._typeobject, align 1

define ptr @NAME_call(ptr nocapture noundef readonly %self, ptr nocapture noundef readonly %args, i64 noundef %count) local_unnamed_addr #0 {
entry:
  %given.i.i = alloca %struct.nodes, align 8
  %axes.i.i = alloca %struct.axes, align 8
  %all.i = alloca %struct.lengths, align 8
  %of_x.i = alloca %struct.steps, align 8
  %of_y.i = alloca %struct.steps, align 8
  %of_out.i = alloca %struct.steps, align 8
  %loop.i = alloca %struct.loop, align 8
  %steps76.i = alloca %struct.operand_steps, align 8
  %modes.i = alloca ptr, align 8
  %given = alloca %struct.operands, align 8
  %size = alloca i64, align 8
  %all = alloca %struct.loop, align 8
  %data.i = getelementptr inbounds i8, ptr %self, i64 16
  %0 = load ptr, ptr %data.i, align 8
  %1 = load ptr, ptr %0, align 8
  call void @llvm.lifetime.start.p0(i64 96, ptr nonnull %given) #7
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(96) %given, i8 0, i64 96, i1 false)
  %operands = getelementptr inbounds i8, ptr %0, i64 24
  %2 = load i64, ptr %operands, align 8
  %cmp = icmp eq i64 %2, %count
  %indvars.iv.i263.i.sroa.gep204 = getelementptr inbounds i8, ptr %given, i64 48
  br i1 %cmp, label %cond.true, label %if.then10

cond.true:                                        ; preds = %entry
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %modes.i) #7
  store ptr null, ptr %modes.i, align 8
  %modes1.i = getelementptr inbounds i8, ptr %1, i64 64
  %3 = load ptr, ptr %modes1.i, align 8
  %call.i = call i32 @PyContextVar_Get(ptr noundef %3, ptr noundef null, ptr noundef nonnull %modes.i) #7
  %cmp.i = icmp slt i32 %call.i, 0
  br i1 %cmp.i, label %cond.end.thread208, label %cond.end

cond.end.thread208:                               ; preds = %cond.true
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %modes.i) #7
  br label %cleanup115

cond.end:                                         ; preds = %cond.true
  %4 = load ptr, ptr %modes.i, align 8
  call void @Py_DecRef(ptr noundef %4) #7
  %5 = load ptr, ptr %modes.i, align 8
  %switch_.i = getelementptr inbounds i8, ptr %1, i64 72
  %6 = load ptr, ptr %switch_.i, align 8
  %normal_of_switch.i = getelementptr inbounds i8, ptr %1, i64 128
  %7 = load i64, ptr %normal_of_switch.i, align 8
  %add.ptr.i = getelementptr inbounds i8, ptr %6, i64 %7
  %8 = load ptr, ptr %add.ptr.i, align 8
  %cmp2.i.not = icmp eq ptr %5, %8
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %modes.i) #7
  br i1 %cmp2.i.not, label %cond.true4, label %if.then10

cond.true4:                                       ; preds = %cond.end
  %9 = load ptr, ptr %0, align 8
  %10 = load ptr, ptr %args, align 8
  %call.i159 = call fastcc i32 @is_plain(ptr noundef %9, ptr noundef %10)
  %tobool.not.i = icmp eq i32 %call.i159, 0
  %cond.i = xor i32 %call.i159, 1
  br i1 %tobool.not.i, label %land.lhs.true.i, label %if.end.i160

land.lhs.true.i:                                  ; preds = %cond.true4
  %11 = load i64, ptr %operands, align 8
  %cmp2.i162 = icmp eq i64 %11, 1
  br i1 %cmp2.i162, label %if.then10, label %lor.lhs.false.i

lor.lhs.false.i:                                  ; preds = %land.lhs.true.i
  %arrayidx3.i = getelementptr inbounds i8, ptr %args, i64 8
  %12 = load ptr, ptr %arrayidx3.i, align 8
  %call4.i = call fastcc i32 @is_plain(ptr noundef %9, ptr noundef %12)
  %tobool5.not.i = icmp eq i32 %call4.i, 0
  br i1 %tobool5.not.i, label %if.then10, label %if.end.i160

if.end.i160:                                      ; preds = %lor.lhs.false.i, %cond.true4
  %idxprom.i = zext nneg i32 %cond.i to i64
  %arrayidx6.i = getelementptr inbounds ptr, ptr %args, i64 %idxprom.i
  %13 = load ptr, ptr %arrayidx6.i, align 8
  %spec_of_tensor.i = getelementptr inbounds i8, ptr %9, i64 192
  %14 = load i64, ptr %spec_of_tensor.i, align 8
  %add.ptr.i161 = getelementptr inbounds i8, ptr %13, i64 %14
  %15 = load ptr, ptr %add.ptr.i161, align 8
  %data_of_tensor.i = getelementptr inbounds i8, ptr %9, i64 184
  %16 = load i64, ptr %data_of_tensor.i, align 8
  %add.ptr7.i = getelementptr inbounds i8, ptr %13, i64 %16
  %17 = load ptr, ptr %add.ptr7.i, align 8
  %descr.i.i = getelementptr inbounds i8, ptr %17, i64 56
  %18 = load ptr, ptr %descr.i.i, align 8
  %type_num.i = getelementptr inbounds i8, ptr %18, i64 28
  %19 = load i32, ptr %type_num.i, align 4
  %is_plain_of_spec.i.i = getelementptr inbounds i8, ptr %9, i64 168
  %20 = load i64, ptr %is_plain_of_spec.i.i, align 8
  %add.ptr.i.i = getelementptr inbounds i8, ptr %15, i64 %20
  %21 = load ptr, ptr %add.ptr.i.i, align 8
  %true_.i.i = getelementptr inbounds i8, ptr %9, i64 32
  %22 = load ptr, ptr %true_.i.i, align 8
  %cmp.i.i = icmp eq ptr %21, %22
  %23 = add i32 %19, -11
  %or.cond.i.i = icmp ult i32 %23, 2
  %or.cond.i = select i1 %cmp.i.i, i1 %or.cond.i.i, i1 false
  br i1 %or.cond.i, label %land.lhs.true3.i.i, label %if.then10

land.lhs.true3.i.i:                               ; preds = %if.end.i160
  %byteorder.i.i = getelementptr inbounds i8, ptr %18, i64 26
  %24 = load i8, ptr %byteorder.i.i, align 2
  %cmp5.not.i.i = icmp eq i8 %24, 62
  br i1 %cmp5.not.i.i, label %if.then10, label %land.rhs.i.i

land.rhs.i.i:                                     ; preds = %land.lhs.true3.i.i
  %nd.i.i.i.i = getelementptr inbounds i8, ptr %17, i64 24
  %25 = load i32, ptr %nd.i.i.i.i, align 8
  %cmp6.i.i.i = icmp sgt i32 %25, 0
  br i1 %cmp6.i.i.i, label %for.body.lr.ph.i.i.i, label %is_for_loops.exit.thread.i

for.body.lr.ph.i.i.i:                             ; preds = %land.rhs.i.i
  %dimensions.i.i.i.i = getelementptr inbounds i8, ptr %17, i64 32
  %26 = load ptr, ptr %dimensions.i.i.i.i, align 8
  %wide.trip.count.i.i.i = zext nneg i32 %25 to i64
  br label %for.body.i.i.i

for.body.i.i.i:                                   ; preds = %for.body.i.i.i, %for.body.lr.ph.i.i.i
  %indvars.iv.i.i.i = phi i64 [ 0, %for.body.lr.ph.i.i.i ], [ %indvars.iv.next.i.i.i, %for.body.i.i.i ]
  %size.07.i.i.i = phi i64 [ 1, %for.body.lr.ph.i.i.i ], [ %mul.i.i.i, %for.body.i.i.i ]
  %arrayidx.i.i.i = getelementptr inbounds i64, ptr %26, i64 %indvars.iv.i.i.i
  %27 = load i64, ptr %arrayidx.i.i.i, align 8
  %mul.i.i.i = mul nsw i64 %27, %size.07.i.i.i
  %indvars.iv.next.i.i.i = add nuw nsw i64 %indvars.iv.i.i.i, 1
  %exitcond.not.i.i.i = icmp eq i64 %indvars.iv.next.i.i.i, %wide.trip.count.i.i.i
  br i1 %exitcond.not.i.i.i, label %is_for_loops.exit.i, label %for.body.i.i.i

is_for_loops.exit.i:                              ; preds = %for.body.i.i.i
  %most.i.i = getelementptr inbounds i8, ptr %9, i64 120
  %28 = load i64, ptr %most.i.i, align 8
  %cmp8.i.not.i = icmp sgt i64 %mul.i.i.i, %28
  br i1 %cmp8.i.not.i, label %if.then10, label %for.body.i.i

is_for_loops.exit.thread.i:                       ; preds = %land.rhs.i.i
  %most.i172.i = getelementptr inbounds i8, ptr %9, i64 120
  %29 = load i64, ptr %most.i172.i, align 8
  %cmp8.i.not173.i = icmp slt i64 %29, 1
  br i1 %cmp8.i.not173.i, label %if.then10, label %size_of.exit.thread.i

size_of.exit.thread.i:                            ; preds = %is_for_loops.exit.thread.i
  %cmp15162.i = icmp eq i32 %19, 12
  br label %31

for.body.i.i:                                     ; preds = %is_for_loops.exit.i, %for.body.i.i
  %indvars.iv.i.i = phi i64 [ %indvars.iv.next.i.i, %for.body.i.i ], [ 0, %is_for_loops.exit.i ]
  %size.07.i.i = phi i64 [ %mul.i.i, %for.body.i.i ], [ 1, %is_for_loops.exit.i ]
  %arrayidx.i.i = getelementptr inbounds i64, ptr %26, i64 %indvars.iv.i.i
  %30 = load i64, ptr %arrayidx.i.i, align 8
  %.fr.i = freeze i64 %30
  %mul.i.i = mul i64 %.fr.i, %size.07.i.i
  %indvars.iv.next.i.i = add nuw nsw i64 %indvars.iv.i.i, 1
  %exitcond.not.i.i = icmp eq i64 %indvars.iv.next.i.i, %wide.trip.count.i.i.i
  br i1 %exitcond.not.i.i, label %size_of.exit.i, label %for.body.i.i

size_of.exit.i:                                   ; preds = %for.body.i.i
  %cmp14.i = icmp eq i64 %mul.i.i, 1
  %cmp15.i = icmp eq i32 %19, 12
  %cond16.i = select i1 %cmp15.i, i64 8, i64 4
  %spec.select.i = select i1 %cmp14.i, i64 0, i64 %cond16.i
  br label %31

31:                                               ; preds = %size_of.exit.i, %size_of.exit.thread.i
  %most.i174176.i = phi ptr [ %most.i172.i, %size_of.exit.thread.i ], [ %most.i.i, %size_of.exit.i ]
  %cmp15165.i = phi i1 [ %cmp15162.i, %size_of.exit.thread.i ], [ %cmp15.i, %size_of.exit.i ]
  %32 = phi i64 [ 0, %size_of.exit.thread.i ], [ %spec.select.i, %size_of.exit.i ]
  %arrayidx19.i = getelementptr inbounds %struct.operand, ptr %given, i64 %idxprom.i
  store ptr %13, ptr %arrayidx19.i, align 8
  %33 = load i64, ptr %data_of_tensor.i, align 8
  %add.ptr.i114.i = getelementptr inbounds i8, ptr %13, i64 %33
  %34 = load ptr, ptr %add.ptr.i114.i, align 8
  %saved.i.i = getelementptr inbounds i8, ptr %arrayidx19.i, i64 8
  store ptr %34, ptr %saved.i.i, align 8
  %data.i.i.i = getelementptr inbounds i8, ptr %34, i64 16
  %35 = load ptr, ptr %data.i.i.i, align 8
  %data.i.i = getelementptr inbounds i8, ptr %arrayidx19.i, i64 16
  store ptr %35, ptr %data.i.i, align 8
  %step3.i.i = getelementptr inbounds i8, ptr %arrayidx19.i, i64 24
  store i64 %32, ptr %step3.i.i, align 8
  %36 = load i64, ptr %operands, align 8
  %cmp21.i = icmp eq i64 %36, 2
  br i1 %cmp21.i, label %if.then23.i, label %cond.end7

if.then23.i:                                      ; preds = %31
  %idxprom24.i = zext nneg i32 %call.i159 to i64
  %arrayidx25.i = getelementptr inbounds ptr, ptr %args, i64 %idxprom24.i
  %37 = load ptr, ptr %arrayidx25.i, align 8
  br i1 %tobool.not.i, label %if.else.i, label %land.lhs.true28.i

land.lhs.true28.i:                                ; preds = %if.then23.i
  %call29.i = call fastcc i32 @is_plain(ptr noundef nonnull %9, ptr noundef %37)
  %tobool30.not.i = icmp eq i32 %call29.i, 0
  br i1 %tobool30.not.i, label %if.else.i, label %if.then31.i

if.then31.i:                                      ; preds = %land.lhs.true28.i
  %38 = load i64, ptr %spec_of_tensor.i, align 8
  %add.ptr33.i = getelementptr inbounds i8, ptr %37, i64 %38
  %39 = load ptr, ptr %add.ptr33.i, align 8
  %40 = load i64, ptr %data_of_tensor.i, align 8
  %add.ptr35.i = getelementptr inbounds i8, ptr %37, i64 %40
  %41 = load ptr, ptr %add.ptr35.i, align 8
  %cmp36.i = icmp ne ptr %39, %15
  %conv37.i = zext i1 %cmp36.i to i32
  br i1 %cmp36.i, label %land.lhs.true39.i, label %if.end48.i

land.lhs.true39.i:                                ; preds = %if.then31.i
  %descr.i.i115.i = getelementptr inbounds i8, ptr %41, i64 56
  %42 = load ptr, ptr %descr.i.i115.i, align 8
  %43 = load i64, ptr %is_plain_of_spec.i.i, align 8
  %add.ptr.i117.i = getelementptr inbounds i8, ptr %39, i64 %43
  %44 = load ptr, ptr %add.ptr.i117.i, align 8
  %45 = load ptr, ptr %true_.i.i, align 8
  %cmp.i119.i = icmp eq ptr %44, %45
  br i1 %cmp.i119.i, label %land.lhs.true.i121.i, label %if.then10

land.lhs.true.i121.i:                             ; preds = %land.lhs.true39.i
  %type_num.i122.i = getelementptr inbounds i8, ptr %42, i64 28
  %46 = load i32, ptr %type_num.i122.i, align 4
  %47 = add i32 %46, -11
  %or.cond.i123.i = icmp ult i32 %47, 2
  br i1 %or.cond.i123.i, label %land.lhs.true3.i124.i, label %if.then10

land.lhs.true3.i124.i:                            ; preds = %land.lhs.true.i121.i
  %byteorder.i125.i = getelementptr inbounds i8, ptr %42, i64 26
  %48 = load i8, ptr %byteorder.i125.i, align 2
  %cmp5.not.i126.i = icmp eq i8 %48, 62
  br i1 %cmp5.not.i126.i, label %if.then10, label %land.rhs.i127.i

land.rhs.i127.i:                                  ; preds = %land.lhs.true3.i124.i
  %nd.i.i.i128.i = getelementptr inbounds i8, ptr %41, i64 24
  %49 = load i32, ptr %nd.i.i.i128.i, align 8
  %cmp6.i.i129.i = icmp sgt i32 %49, 0
  br i1 %cmp6.i.i129.i, label %for.body.lr.ph.i.i134.i, label %is_for_loops.exit144.i

for.body.lr.ph.i.i134.i:                          ; preds = %land.rhs.i127.i
  %dimensions.i.i.i135.i = getelementptr inbounds i8, ptr %41, i64 32
  %50 = load ptr, ptr %dimensions.i.i.i135.i, align 8
  %wide.trip.count.i.i136.i = zext nneg i32 %49 to i64
  br label %for.body.i.i137.i

for.body.i.i137.i:                                ; preds = %for.body.i.i137.i, %for.body.lr.ph.i.i134.i
  %indvars.iv.i.i138.i = phi i64 [ 0, %for.body.lr.ph.i.i134.i ], [ %indvars.iv.next.i.i142.i, %for.body.i.i137.i ]
  %size.07.i.i139.i = phi i64 [ 1, %for.body.lr.ph.i.i134.i ], [ %mul.i.i141.i, %for.body.i.i137.i ]
  %arrayidx.i.i140.i = getelementptr inbounds i64, ptr %50, i64 %indvars.iv.i.i138.i
  %51 = load i64, ptr %arrayidx.i.i140.i, align 8
  %mul.i.i141.i = mul nsw i64 %51, %size.07.i.i139.i
  %indvars.iv.next.i.i142.i = add nuw nsw i64 %indvars.iv.i.i138.i, 1
  %exitcond.not.i.i143.i = icmp eq i64 %indvars.iv.next.i.i142.i, %wide.trip.count.i.i136.i
  br i1 %exitcond.not.i.i143.i, label %is_for_loops.exit144.i, label %for.body.i.i137.i

is_for_loops.exit144.i:                           ; preds = %for.body.i.i137.i, %land.rhs.i127.i
  %size.0.lcssa.i.i131.i = phi i64 [ 1, %land.rhs.i127.i ], [ %mul.i.i141.i, %for.body.i.i137.i ]
  %52 = load i64, ptr %most.i174176.i, align 8
  %cmp8.i133.not.i = icmp sle i64 %size.0.lcssa.i.i131.i, %52
  %cmp45.not.i = icmp eq i32 %46, %19
  %or.cond178.i = select i1 %cmp8.i133.not.i, i1 %cmp45.not.i, i1 false
  br i1 %or.cond178.i, label %if.end48.i, label %if.then10

if.end48.i:                                       ; preds = %is_for_loops.exit144.i, %if.then31.i
  store ptr %37, ptr %indvars.iv.i263.i.sroa.gep204, align 8
  %53 = load ptr, ptr %add.ptr35.i, align 8
  %saved.i148.i = getelementptr inbounds i8, ptr %given, i64 56
  store ptr %53, ptr %saved.i148.i, align 8
  %data.i.i149.i = getelementptr inbounds i8, ptr %53, i64 16
  %54 = load ptr, ptr %data.i.i149.i, align 8
  %data.i150.i = getelementptr inbounds i8, ptr %given, i64 64
  store ptr %54, ptr %data.i150.i, align 8
  %step3.i151.i = getelementptr inbounds i8, ptr %given, i64 72
  store i64 %32, ptr %step3.i151.i, align 8
  br label %cond.end7

if.else.i:                                        ; preds = %land.lhs.true28.i, %if.then23.i
  %arrayidx53.i = getelementptr inbounds %struct.operand, ptr %given, i64 %idxprom24.i
  %ob_type.i.i.i.i = getelementptr inbounds i8, ptr %37, i64 8
  %55 = load ptr, ptr %ob_type.i.i.i.i, align 8
  %cmp.i.not.i.i = icmp eq ptr %55, @PyFloat_Type
  %cmp.i62.not.i.i = icmp eq ptr %55, @PyLong_Type
  %or.cond.i152.i = or i1 %cmp.i.not.i.i, %cmp.i62.not.i.i
  br i1 %or.cond.i152.i, label %if.end.i.i, label %if.then10

if.end.i.i:                                       ; preds = %if.else.i
  %numbers_of_spec.i.i = getelementptr inbounds i8, ptr %9, i64 176
  %56 = load i64, ptr %numbers_of_spec.i.i, align 8
  %add.ptr.i153.i = getelementptr inbounds i8, ptr %15, i64 %56
  %57 = load ptr, ptr %add.ptr.i153.i, align 8
  %call3.i.i = call ptr @PyDict_GetItemWithError(ptr noundef %57, ptr noundef nonnull %37) #7
  %cmp.not.i.i = icmp eq ptr %call3.i.i, null
  br i1 %cmp.not.i.i, label %if.end10.i.i, label %if.then4.i.i

if.then4.i.i:                                     ; preds = %if.end.i.i
  %ob_type.i.i.i = getelementptr inbounds i8, ptr %call3.i.i, i64 8
  %58 = load ptr, ptr %ob_type.i.i.i, align 8
  %59 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx.i154.i = getelementptr inbounds i8, ptr %59, i64 16
  %60 = load ptr, ptr %arrayidx.i154.i, align 8
  %cmp6.not.i.i = icmp eq ptr %58, %60
  br i1 %cmp6.not.i.i, label %if.end8.i.i, label %if.then10

if.end8.i.i:                                      ; preds = %if.then4.i.i
  %data.i.i155.i = getelementptr inbounds i8, ptr %call3.i.i, i64 16
  %61 = load ptr, ptr %data.i.i155.i, align 8
  br label %read_number.exit.i

if.end10.i.i:                                     ; preds = %if.end.i.i
  %call11.i.i = call ptr @PyErr_Occurred() #7
  %tobool12.not.i.i = icmp eq ptr %call11.i.i, null
  br i1 %tobool12.not.i.i, label %if.end14.i.i, label %if.then10

if.end14.i.i:                                     ; preds = %if.end10.i.i
  %62 = load ptr, ptr %ob_type.i.i.i.i, align 8
  %cmp.i65.not.i.i = icmp eq ptr %62, @PyFloat_Type
  br i1 %cmp.i65.not.i.i, label %cond.true.i.i, label %cond.end.i.i

cond.true.i.i:                                    ; preds = %if.end14.i.i
  %call17.i.i = call double @PyFloat_AsDouble(ptr noundef nonnull %37) #7
  br label %cond.end.i.i

cond.end.i.i:                                     ; preds = %cond.true.i.i, %if.end14.i.i
  %cond.i.i = phi double [ %call17.i.i, %cond.true.i.i ], [ 1.000000e+00, %if.end14.i.i ]
  %wide.i.i = getelementptr inbounds i8, ptr %arrayidx53.i, i64 32
  store double %cond.i.i, ptr %wide.i.i, align 8
  %63 = load ptr, ptr %ob_type.i.i.i.i, align 8
  %cmp.i68.not.i.i = icmp eq ptr %63, @PyLong_Type
  br i1 %cmp.i68.not.i.i, label %land.lhs.true20.i.i, label %if.end25.i.i

land.lhs.true20.i.i:                              ; preds = %cond.end.i.i
  %call21.i.i = call i32 @PyObject_Not(ptr noundef nonnull %37) #7
  %tobool22.not.i.i = icmp eq i32 %call21.i.i, 0
  br i1 %tobool22.not.i.i, label %if.end25thread-pre-split.i.i, label %if.end25.thread.i.i

if.end25.thread.i.i:                              ; preds = %land.lhs.true20.i.i
  store double 0.000000e+00, ptr %wide.i.i, align 8
  br label %if.end29.i.i

if.end25thread-pre-split.i.i:                     ; preds = %land.lhs.true20.i.i
  %.pr.i.i = load double, ptr %wide.i.i, align 8
  br label %if.end25.i.i

if.end25.i.i:                                     ; preds = %if.end25thread-pre-split.i.i, %cond.end.i.i
  %64 = phi double [ %.pr.i.i, %if.end25thread-pre-split.i.i ], [ %cond.i.i, %cond.end.i.i ]
  %cmp27.i.i = fcmp une double %64, 0.000000e+00
  br i1 %cmp27.i.i, label %if.then10, label %if.end29.i.i

if.end29.i.i:                                     ; preds = %if.end25.i.i, %if.end25.thread.i.i
  %65 = phi double [ 0.000000e+00, %if.end25.thread.i.i ], [ %64, %if.end25.i.i ]
  %conv.i.i = fptrunc double %65 to float
  %narrow.i.i = getelementptr inbounds i8, ptr %arrayidx53.i, i64 40
  store float %conv.i.i, ptr %narrow.i.i, align 8
  %cond38.i.i = select i1 %cmp15165.i, ptr %wide.i.i, ptr %narrow.i.i
  br label %read_number.exit.i

read_number.exit.i:                               ; preds = %if.end29.i.i, %if.end8.i.i
  %.sink.i.i = phi ptr [ %61, %if.end8.i.i ], [ %cond38.i.i, %if.end29.i.i ]
  %call3.sink.i.i = phi ptr [ %call3.i.i, %if.end8.i.i ], [ %37, %if.end29.i.i ]
  %data.i156.i = getelementptr inbounds i8, ptr %arrayidx53.i, i64 16
  store ptr %.sink.i.i, ptr %data.i156.i, align 8
  %saved.i157.i = getelementptr inbounds i8, ptr %arrayidx53.i, i64 8
  store ptr %call3.sink.i.i, ptr %saved.i157.i, align 8
  br label %cond.end7

cond.end7:                                        ; preds = %read_number.exit.i, %if.end48.i, %31
  %is_loose.1 = phi i32 [ 0, %read_number.exit.i ], [ %conv37.i, %if.end48.i ], [ 0, %31 ]
  %cmp9 = icmp eq ptr %17, null
  br i1 %cmp9, label %if.then10, label %if.end18

if.then10:                                        ; preds = %entry, %is_for_loops.exit.thread.i, %if.else.i, %if.end25.i.i, %if.end10.i.i, %if.then4.i.i, %land.lhs.true.i121.i, %land.lhs.true39.i, %land.lhs.true3.i124.i, %if.end.i160, %land.lhs.true3.i.i, %is_for_loops.exit144.i, %is_for_loops.exit.i, %land.lhs.true.i, %lor.lhs.false.i, %cond.end, %cond.end7
  %call11 = call ptr @PyErr_Occurred() #7
  %tobool12.not = icmp eq ptr %call11, null
  br i1 %tobool12.not, label %cond.false14, label %cleanup115

cond.false14:                                     ; preds = %if.then10
  %none = getelementptr inbounds i8, ptr %1, i64 24
  %66 = load ptr, ptr %none, align 8
  call void @Py_IncRef(ptr noundef %66) #7
  br label %cleanup115

if.end18:                                         ; preds = %cond.end7
  %67 = load ptr, ptr %descr.i.i, align 8
  %type_num = getelementptr inbounds i8, ptr %67, i64 28
  %68 = load i32, ptr %type_num, align 4
  %cmp20 = icmp eq i32 %68, 12
  %cond24.in.v = select i1 %cmp20, i64 104, i64 96
  %cond24.in = getelementptr inbounds i8, ptr %0, i64 %cond24.in.v
  %cond24 = load ptr, ptr %cond24.in, align 8
  %cmp25 = icmp eq ptr %cond24, null
  br i1 %cmp25, label %if.then26, label %if.end29

if.then26:                                        ; preds = %if.end18
  %none27 = getelementptr inbounds i8, ptr %1, i64 24
  %69 = load ptr, ptr %none27, align 8
  call void @Py_IncRef(ptr noundef %69) #7
  br label %cleanup115

if.end29:                                         ; preds = %if.end18
  %tobool30.not = icmp eq i32 %is_loose.1, 0
  br i1 %tobool30.not, label %if.end33, label %if.then31

if.then31:                                        ; preds = %if.end29
  %70 = load ptr, ptr %0, align 8
  %saved.i = getelementptr inbounds i8, ptr %given, i64 8
  %71 = load ptr, ptr %saved.i, align 8
  %saved3.i = getelementptr inbounds i8, ptr %given, i64 56
  %72 = load ptr, ptr %saved3.i, align 8
  %descr.i.i163 = getelementptr inbounds i8, ptr %71, i64 56
  %73 = load ptr, ptr %descr.i.i163, align 8
  %type_num.i164 = getelementptr inbounds i8, ptr %73, i64 28
  %74 = load i32, ptr %type_num.i164, align 4
  %nd.i.i = getelementptr inbounds i8, ptr %71, i64 24
  %75 = load i32, ptr %nd.i.i, align 8
  %nd.i190.i = getelementptr inbounds i8, ptr %72, i64 24
  %76 = load i32, ptr %nd.i190.i, align 8
  %spec.select.i165 = call i32 @llvm.smax.i32(i32 %75, i32 %76)
  %cmp8.i = icmp eq i32 %74, 12
  %cond9.i = select i1 %cmp8.i, i64 8, i64 4
  call void @llvm.lifetime.start.p0(i64 48, ptr nonnull %all.i) #7
  %cmp10.i = icmp sgt i32 %spec.select.i165, 6
  br i1 %cmp10.i, label %if.then.i, label %for.cond.preheader.i

for.cond.preheader.i:                             ; preds = %if.then31
  %cmp13278.i = icmp sgt i32 %spec.select.i165, 0
  br i1 %cmp13278.i, label %for.body.lr.ph.i, label %for.cond.cleanup.i

for.body.lr.ph.i:                                 ; preds = %for.cond.preheader.i
  %dimensions.i.i = getelementptr inbounds i8, ptr %71, i64 32
  %dimensions.i195.i = getelementptr inbounds i8, ptr %72, i64 32
  %wide.trip.count.i = zext nneg i32 %spec.select.i165 to i64
  %sub.neg.i = sub i32 %75, %spec.select.i165
  %sub18.neg.i = sub i32 %76, %spec.select.i165
  br label %for.body.i

if.then.i:                                        ; preds = %if.then31
  %none.i = getelementptr inbounds i8, ptr %70, i64 24
  %77 = load ptr, ptr %none.i, align 8
  call void @Py_IncRef(ptr noundef %77) #7
  br label %broadcast.exit

for.cond.cleanup.i:                               ; preds = %cond.end37.i, %for.cond.preheader.i
  %size.0.lcssa.i = phi i64 [ 1, %for.cond.preheader.i ], [ %mul.i, %cond.end37.i ]
  call void @llvm.lifetime.start.p0(i64 48, ptr nonnull %of_x.i) #7
  call void @llvm.lifetime.start.p0(i64 48, ptr nonnull %of_y.i) #7
  call void @llvm.lifetime.start.p0(i64 48, ptr nonnull %of_out.i) #7
  %most.i = getelementptr inbounds i8, ptr %70, i64 120
  %78 = load i64, ptr %most.i, align 8
  %cmp44.i = icmp sgt i64 %size.0.lcssa.i, %78
  br i1 %cmp44.i, label %if.then53.i, label %lor.lhs.false.i166

for.body.i:                                       ; preds = %cond.end37.i, %for.body.lr.ph.i
  %indvars.iv.i = phi i64 [ 0, %for.body.lr.ph.i ], [ %indvars.iv.next.i, %cond.end37.i ]
  %size.0280.i = phi i64 [ 1, %for.body.lr.ph.i ], [ %mul.i, %cond.end37.i ]
  %79 = trunc nuw nsw i64 %indvars.iv.i to i32
  %sub16.i = add i32 %sub.neg.i, %79
  %sub19.i = add i32 %sub18.neg.i, %79
  %cmp20.i = icmp slt i32 %sub16.i, 0
  br i1 %cmp20.i, label %cond.end26.i, label %cond.false23.i

cond.false23.i:                                   ; preds = %for.body.i
  %80 = load ptr, ptr %dimensions.i.i, align 8
  %idxprom.i187 = zext nneg i32 %sub16.i to i64
  %arrayidx25.i188 = getelementptr inbounds i64, ptr %80, i64 %idxprom.i187
  %81 = load i64, ptr %arrayidx25.i188, align 8
  br label %cond.end26.i

cond.end26.i:                                     ; preds = %cond.false23.i, %for.body.i
  %cond27.i = phi i64 [ %81, %cond.false23.i ], [ 1, %for.body.i ]
  %cmp28.i = icmp eq i64 %cond27.i, 1
  %cmp30.i = icmp sgt i32 %sub19.i, -1
  %or.cond.i189 = and i1 %cmp30.i, %cmp28.i
  br i1 %or.cond.i189, label %cond.true32.i, label %cond.end37.i

cond.true32.i:                                    ; preds = %cond.end26.i
  %82 = load ptr, ptr %dimensions.i195.i, align 8
  %idxprom34.i = zext nneg i32 %sub19.i to i64
  %arrayidx35.i = getelementptr inbounds i64, ptr %82, i64 %idxprom34.i
  %83 = load i64, ptr %arrayidx35.i, align 8
  br label %cond.end37.i

cond.end37.i:                                     ; preds = %cond.true32.i, %cond.end26.i
  %cond38.i = phi i64 [ %83, %cond.true32.i ], [ %cond27.i, %cond.end26.i ]
  %arrayidx40.i = getelementptr inbounds [6 x i64], ptr %all.i, i64 0, i64 %indvars.iv.i
  store i64 %cond38.i, ptr %arrayidx40.i, align 8
  %mul.i = mul nsw i64 %cond38.i, %size.0280.i
  %indvars.iv.next.i = add nuw nsw i64 %indvars.iv.i, 1
  %exitcond.not.i = icmp eq i64 %indvars.iv.next.i, %wide.trip.count.i
  br i1 %exitcond.not.i, label %for.cond.cleanup.i, label %for.body.i

lor.lhs.false.i166:                               ; preds = %for.cond.cleanup.i
  %sub.i.i = sub nsw i32 %spec.select.i165, %75
  %cmp.i.i167 = icmp slt i32 %sub.i.i, 0
  br i1 %cmp.i.i167, label %if.then53.i, label %for.cond.preheader.i.i

for.cond.preheader.i.i:                           ; preds = %lor.lhs.false.i166
  %cmp264.i.i = icmp slt i32 %spec.select.i165, 1
  br i1 %cmp264.i.i, label %if.end56.i, label %for.body.lr.ph.i.i168

for.body.lr.ph.i.i168:                            ; preds = %for.cond.preheader.i.i
  %dimensions.i.i.i169 = getelementptr inbounds i8, ptr %71, i64 32
  %84 = zext nneg i32 %spec.select.i165 to i64
  %85 = zext nneg i32 %sub.i.i to i64
  br label %for.body.i.i170

for.body.i.i170:                                  ; preds = %cleanup.i.i, %for.body.lr.ph.i.i168
  %indvars.iv.i.i171 = phi i64 [ %84, %for.body.lr.ph.i.i168 ], [ %indvars.iv.next.i.i172, %cleanup.i.i ]
  %width.addr.065.i.i = phi i64 [ %cond9.i, %for.body.lr.ph.i.i168 ], [ %mul.i.i173, %cleanup.i.i ]
  %indvars.iv.next.i.i172 = add nsw i64 %indvars.iv.i.i171, -1
  %cmp3.not.i.i = icmp sgt i64 %indvars.iv.i.i171, %85
  br i1 %cmp3.not.i.i, label %cond.end.i.i185, label %cleanup.i.i

cond.end.i.i185:                                  ; preds = %for.body.i.i170
  %86 = load ptr, ptr %dimensions.i.i.i169, align 8
  %87 = sub nsw i64 %indvars.iv.next.i.i172, %85
  %arrayidx.i.i186 = getelementptr inbounds i64, ptr %86, i64 %87
  %88 = load i64, ptr %arrayidx.i.i186, align 8
  %.fr.i.i = freeze i64 %88
  %arrayidx7.i.i = getelementptr inbounds i64, ptr %all.i, i64 %indvars.iv.next.i.i172
  %89 = load i64, ptr %arrayidx7.i.i, align 8
  %cmp8.i.i = icmp eq i64 %.fr.i.i, %89
  %cmp9.i.i = icmp eq i64 %.fr.i.i, 1
  %or.cond.not.i.i = or i1 %cmp8.i.i, %cmp9.i.i
  br i1 %or.cond.not.i.i, label %if.end11.i.i, label %if.then53.i

if.end11.i.i:                                     ; preds = %cond.end.i.i185
  %spec.select62.i.i = select i1 %cmp9.i.i, i64 0, i64 %width.addr.065.i.i
  br label %cleanup.i.i

cleanup.i.i:                                      ; preds = %if.end11.i.i, %for.body.i.i170
  %cond4458.i.i = phi i64 [ %.fr.i.i, %if.end11.i.i ], [ 1, %for.body.i.i170 ]
  %90 = phi i64 [ %spec.select62.i.i, %if.end11.i.i ], [ 0, %for.body.i.i170 ]
  %arrayidx18.i.i = getelementptr inbounds [6 x i64], ptr %of_x.i, i64 0, i64 %indvars.iv.next.i.i172
  store i64 %90, ptr %arrayidx18.i.i, align 8
  %mul.i.i173 = mul nsw i64 %cond4458.i.i, %width.addr.065.i.i
  %cmp2.i.i = icmp ult i64 %indvars.iv.i.i171, 2
  br i1 %cmp2.i.i, label %lor.lhs.false48.i, label %for.body.i.i170

lor.lhs.false48.i:                                ; preds = %cleanup.i.i
  %sub.i197.i = sub nsw i32 %spec.select.i165, %76
  %cmp.i198.i = icmp slt i32 %sub.i197.i, 0
  br i1 %cmp.i198.i, label %if.then53.i, label %for.body.lr.ph.i201.i

for.body.lr.ph.i201.i:                            ; preds = %lor.lhs.false48.i
  %dimensions.i.i202.i = getelementptr inbounds i8, ptr %72, i64 32
  %91 = zext nneg i32 %sub.i197.i to i64
  br label %for.body.i203.i

for.body.i203.i:                                  ; preds = %cleanup.i208.i, %for.body.lr.ph.i201.i
  %indvars.iv.i204.i = phi i64 [ %84, %for.body.lr.ph.i201.i ], [ %indvars.iv.next.i206.i, %cleanup.i208.i ]
  %width.addr.065.i205.i = phi i64 [ %cond9.i, %for.body.lr.ph.i201.i ], [ %mul.i211.i, %cleanup.i208.i ]
  %indvars.iv.next.i206.i = add nsw i64 %indvars.iv.i204.i, -1
  %cmp3.not.i207.i = icmp sgt i64 %indvars.iv.i204.i, %91
  br i1 %cmp3.not.i207.i, label %cond.end.i214.i, label %cleanup.i208.i

cond.end.i214.i:                                  ; preds = %for.body.i203.i
  %92 = load ptr, ptr %dimensions.i.i202.i, align 8
  %93 = sub nsw i64 %indvars.iv.next.i206.i, %91
  %arrayidx.i215.i = getelementptr inbounds i64, ptr %92, i64 %93
  %94 = load i64, ptr %arrayidx.i215.i, align 8
  %.fr.i216.i = freeze i64 %94
  %arrayidx7.i217.i = getelementptr inbounds i64, ptr %all.i, i64 %indvars.iv.next.i206.i
  %95 = load i64, ptr %arrayidx7.i217.i, align 8
  %cmp8.i218.i = icmp eq i64 %.fr.i216.i, %95
  %cmp9.i219.i = icmp eq i64 %.fr.i216.i, 1
  %or.cond.not.i220.i = or i1 %cmp8.i218.i, %cmp9.i219.i
  br i1 %or.cond.not.i220.i, label %if.end11.i221.i, label %if.then53.i

if.end11.i221.i:                                  ; preds = %cond.end.i214.i
  %spec.select62.i222.i = select i1 %cmp9.i219.i, i64 0, i64 %width.addr.065.i205.i
  br label %cleanup.i208.i

cleanup.i208.i:                                   ; preds = %if.end11.i221.i, %for.body.i203.i
  %cond4458.i209.i = phi i64 [ %.fr.i216.i, %if.end11.i221.i ], [ 1, %for.body.i203.i ]
  %96 = phi i64 [ %spec.select62.i222.i, %if.end11.i221.i ], [ 0, %for.body.i203.i ]
  %arrayidx18.i210.i = getelementptr inbounds [6 x i64], ptr %of_y.i, i64 0, i64 %indvars.iv.next.i206.i
  store i64 %96, ptr %arrayidx18.i210.i, align 8
  %mul.i211.i = mul nsw i64 %cond4458.i209.i, %width.addr.065.i205.i
  %cmp2.i212.i = icmp ult i64 %indvars.iv.i204.i, 2
  br i1 %cmp2.i212.i, label %if.end56.i, label %for.body.i203.i

if.then53.i:                                      ; preds = %cond.end.i.i185, %cond.end.i214.i, %lor.lhs.false48.i, %lor.lhs.false.i166, %for.cond.cleanup.i
  %none54.i = getelementptr inbounds i8, ptr %70, i64 24
  %97 = load ptr, ptr %none54.i, align 8
  call void @Py_IncRef(ptr noundef %97) #7
  br label %cleanup122.i

if.end56.i:                                       ; preds = %cleanup.i208.i, %for.cond.preheader.i.i
  call void @Py_IncRef(ptr noundef %73) #7
  %98 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx58.i = getelementptr inbounds i8, ptr %98, i64 752
  %99 = load ptr, ptr %arrayidx58.i, align 8
  %arrayidx59.i = getelementptr inbounds i8, ptr %98, i64 16
  %100 = load ptr, ptr %arrayidx59.i, align 8
  %101 = load ptr, ptr %descr.i.i163, align 8
  %call63.i = call ptr %99(ptr noundef %100, ptr noundef %101, i32 noundef %spec.select.i165, ptr noundef nonnull %all.i, ptr noundef null, ptr noundef null, i32 noundef 0, ptr noundef null) #7
  %cmp64.i = icmp eq ptr %call63.i, null
  br i1 %cmp64.i, label %cleanup122.i, label %if.end67.i

if.end67.i:                                       ; preds = %if.end56.i
  %nd.i.i226.i = getelementptr inbounds i8, ptr %call63.i, i64 24
  %102 = load i32, ptr %nd.i.i226.i, align 8
  %sub.i227.i = sub nsw i32 %spec.select.i165, %102
  %cmp.i228.i = icmp slt i32 %sub.i227.i, 0
  %or.cond272.i = or i1 %cmp264.i.i, %cmp.i228.i
  br i1 %or.cond272.i, label %find_steps.exit253.i, label %for.body.lr.ph.i231.i

for.body.lr.ph.i231.i:                            ; preds = %if.end67.i
  %dimensions.i.i232.i = getelementptr inbounds i8, ptr %call63.i, i64 32
  %103 = zext nneg i32 %spec.select.i165 to i64
  %104 = zext nneg i32 %sub.i227.i to i64
  br label %for.body.i233.i

for.body.i233.i:                                  ; preds = %cleanup.i238.i, %for.body.lr.ph.i231.i
  %indvars.iv.i234.i = phi i64 [ %103, %for.body.lr.ph.i231.i ], [ %indvars.iv.next.i236.i, %cleanup.i238.i ]
  %width.addr.065.i235.i = phi i64 [ %cond9.i, %for.body.lr.ph.i231.i ], [ %mul.i241.i, %cleanup.i238.i ]
  %indvars.iv.next.i236.i = add nsw i64 %indvars.iv.i234.i, -1
  %cmp3.not.i237.i = icmp sgt i64 %indvars.iv.i234.i, %104
  br i1 %cmp3.not.i237.i, label %cond.end.i244.i, label %cleanup.i238.i

cond.end.i244.i:                                  ; preds = %for.body.i233.i
  %105 = load ptr, ptr %dimensions.i.i232.i, align 8
  %106 = sub nsw i64 %indvars.iv.next.i236.i, %104
  %arrayidx.i245.i = getelementptr inbounds i64, ptr %105, i64 %106
  %107 = load i64, ptr %arrayidx.i245.i, align 8
  %.fr.i246.i = freeze i64 %107
  %arrayidx7.i247.i = getelementptr inbounds i64, ptr %all.i, i64 %indvars.iv.next.i236.i
  %108 = load i64, ptr %arrayidx7.i247.i, align 8
  %cmp8.i248.i = icmp eq i64 %.fr.i246.i, %108
  %cmp9.i249.i = icmp eq i64 %.fr.i246.i, 1
  %or.cond.not.i250.i = or i1 %cmp8.i248.i, %cmp9.i249.i
  br i1 %or.cond.not.i250.i, label %if.end11.i251.i, label %find_steps.exit253.i

if.end11.i251.i:                                  ; preds = %cond.end.i244.i
  %spec.select62.i252.i = select i1 %cmp9.i249.i, i64 0, i64 %width.addr.065.i235.i
  br label %cleanup.i238.i

cleanup.i238.i:                                   ; preds = %if.end11.i251.i, %for.body.i233.i
  %cond4458.i239.i = phi i64 [ %.fr.i246.i, %if.end11.i251.i ], [ 1, %for.body.i233.i ]
  %109 = phi i64 [ %spec.select62.i252.i, %if.end11.i251.i ], [ 0, %for.body.i233.i ]
  %arrayidx18.i240.i = getelementptr inbounds [6 x i64], ptr %of_out.i, i64 0, i64 %indvars.iv.next.i236.i
  store i64 %109, ptr %arrayidx18.i240.i, align 8
  %mul.i241.i = mul nsw i64 %cond4458.i239.i, %width.addr.065.i235.i
  %cmp2.i242.i = icmp ult i64 %indvars.iv.i234.i, 2
  br i1 %cmp2.i242.i, label %find_steps.exit253.i, label %for.body.i233.i

find_steps.exit253.i:                             ; preds = %cleanup.i238.i, %cond.end.i244.i, %if.end67.i
  call void @llvm.lifetime.start.p0(i64 48, ptr nonnull %loop.i) #7
  %data.i174 = getelementptr inbounds i8, ptr %given, i64 16
  %110 = load ptr, ptr %data.i174, align 8
  store ptr %110, ptr %loop.i, align 8
  %arrayinit.element.i = getelementptr inbounds i8, ptr %loop.i, i64 8
  %data73.i = getelementptr inbounds i8, ptr %given, i64 64
  %111 = load ptr, ptr %data73.i, align 8
  store ptr %111, ptr %arrayinit.element.i, align 8
  %arrayinit.element74.i = getelementptr inbounds i8, ptr %loop.i, i64 16
  %data.i.i175 = getelementptr inbounds i8, ptr %call63.i, i64 16
  %112 = load ptr, ptr %data.i.i175, align 8
  store ptr %112, ptr %arrayinit.element74.i, align 8
  %steps.i = getelementptr inbounds i8, ptr %loop.i, i64 24
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(24) %steps.i, i8 0, i64 24, i1 false)
  call void @llvm.lifetime.start.p0(i64 24, ptr nonnull %steps76.i) #7
  store ptr %of_x.i, ptr %steps76.i, align 8
  %arrayinit.element78.i = getelementptr inbounds i8, ptr %steps76.i, i64 8
  store ptr %of_y.i, ptr %arrayinit.element78.i, align 8
  %arrayinit.element79.i = getelementptr inbounds i8, ptr %steps76.i, i64 16
  store ptr %of_out.i, ptr %arrayinit.element79.i, align 8
  %flags.i = getelementptr inbounds i8, ptr %70, i64 112
  %113 = load i64, ptr %flags.i, align 8
  %conv80.i = trunc i64 %113 to i32
  %call81.i = call i32 @fetestexcept(i32 noundef %conv80.i) #7
  %tobool82.not.i = icmp eq i32 %call81.i, 0
  br i1 %tobool82.not.i, label %if.end87.i, label %if.then83.i

if.then83.i:                                      ; preds = %find_steps.exit253.i
  %114 = load i64, ptr %flags.i, align 8
  %conv85.i = trunc i64 %114 to i32
  %call86.i = call i32 @feclearexcept(i32 noundef %conv85.i) #7
  br label %if.end87.i

if.end87.i:                                       ; preds = %if.then83.i, %find_steps.exit253.i
  %cond93.in.v.i = select i1 %cmp8.i, i64 104, i64 96
  %cond93.in.i = getelementptr inbounds i8, ptr %0, i64 %cond93.in.v.i
  %cond93.i = load ptr, ptr %cond93.in.i, align 8
  %cond99.in.v.i = select i1 %cmp8.i, i64 120, i64 112
  %cond99.in.i = getelementptr inbounds i8, ptr %0, i64 %cond99.in.v.i
  %cond99.i = load ptr, ptr %cond99.in.i, align 8
  call void @llvm.lifetime.start.p0(i64 240, ptr nonnull %axes.i.i) #7
  %invariant.gep.i.i = getelementptr i8, ptr %axes.i.i, i64 -40
  br i1 %cmp264.i.i, label %if.end79.thread.i.i, label %for.body.preheader.i.i

for.body.preheader.i.i:                           ; preds = %if.end87.i
  %115 = zext nneg i32 %spec.select.i165 to i64
  br label %for.body.i254.i

for.body.i254.i:                                  ; preds = %for.inc69.i.i, %for.body.preheader.i.i
  %indvars.iv241.i.i = phi i64 [ %115, %for.body.preheader.i.i ], [ %indvars.iv.next242.i.i, %for.inc69.i.i ]
  %found.0226.i.i = phi i32 [ 0, %for.body.preheader.i.i ], [ %found.2.i.i, %for.inc69.i.i ]
  %indvars.iv.next242.i.i = add nsw i64 %indvars.iv241.i.i, -1
  %arrayidx.i255.i = getelementptr inbounds i64, ptr %all.i, i64 %indvars.iv.next242.i.i
  %116 = load i64, ptr %arrayidx.i255.i, align 8
  switch i64 %116, label %if.end7.i.i [
    i64 0, label %go_through.exit.i
    i64 1, label %for.inc69.i.i
  ]

if.end7.i.i:                                      ; preds = %for.body.i254.i
  %cmp8.i257.i = icmp sgt i32 %found.0226.i.i, 0
  br i1 %cmp8.i257.i, label %for.body13.lr.ph.i.i, label %if.end40.i.i

for.body13.lr.ph.i.i:                             ; preds = %if.end7.i.i
  %117 = zext nneg i32 %found.0226.i.i to i64
  %118 = getelementptr %struct.axis, ptr %axes.i.i, i64 %117
  %arrayidx22.i.i = getelementptr i8, ptr %118, i64 -40
  %steps23.i.i = getelementptr i8, ptr %118, i64 -32
  %119 = load i64, ptr %arrayidx22.i.i, align 8
  br label %for.body13.i.i

for.cond.cleanup12.i.i:                           ; preds = %for.body13.i.i
  br i1 %cmp29.i.i, label %if.then32.i.i, label %if.end40.i.i

for.body13.i.i:                                   ; preds = %for.body13.i.i, %for.body13.lr.ph.i.i
  %indvars.iv.i258.i = phi i64 [ 0, %for.body13.lr.ph.i.i ], [ %indvars.iv.next.i260.i, %for.body13.i.i ]
  %arrayidx16.i.i = getelementptr inbounds [3 x ptr], ptr %steps76.i, i64 0, i64 %indvars.iv.i258.i
  %120 = load ptr, ptr %arrayidx16.i.i, align 8
  %arrayidx19.i.i = getelementptr inbounds [6 x i64], ptr %120, i64 0, i64 %indvars.iv.next242.i.i
  %121 = load i64, ptr %arrayidx19.i.i, align 8
  %arrayidx25.i.i = getelementptr inbounds [3 x i64], ptr %steps23.i.i, i64 0, i64 %indvars.iv.i258.i
  %122 = load i64, ptr %arrayidx25.i.i, align 8
  %mul.i259.i = mul nsw i64 %122, %119
  %cmp29.i.i = icmp eq i64 %121, %mul.i259.i
  %indvars.iv.next.i260.i = add nuw nsw i64 %indvars.iv.i258.i, 1
  %cmp10.i.i = icmp ult i64 %indvars.iv.i258.i, 2
  %123 = select i1 %cmp10.i.i, i1 %cmp29.i.i, i1 false
  br i1 %123, label %for.body13.i.i, label %for.cond.cleanup12.i.i

if.then32.i.i:                                    ; preds = %for.cond.cleanup12.i.i
  %gep.i.i = getelementptr %struct.axis, ptr %invariant.gep.i.i, i64 %117
  %mul39.i.i = mul nsw i64 %119, %116
  store i64 %mul39.i.i, ptr %gep.i.i, align 8
  br label %for.inc69.i.i

if.end40.i.i:                                     ; preds = %for.cond.cleanup12.i.i, %if.end7.i.i
  %idxprom43.i.i = sext i32 %found.0226.i.i to i64
  %arrayidx44.i.i = getelementptr inbounds %struct.axis, ptr %axes.i.i, i64 %idxprom43.i.i
  store i64 %116, ptr %arrayidx44.i.i, align 8
  %at.i.i = getelementptr inbounds i8, ptr %arrayidx44.i.i, i64 32
  store i64 0, ptr %at.i.i, align 8
  %steps62.i.i = getelementptr inbounds i8, ptr %arrayidx44.i.i, i64 8
  br label %for.body53.i.i

for.cond.cleanup52.i.i:                           ; preds = %for.body53.i.i
  %inc68.i.i = add nsw i32 %found.0226.i.i, 1
  br label %for.inc69.i.i

for.body53.i.i:                                   ; preds = %for.body53.i.i, %if.end40.i.i
  %indvars.iv238.i.i = phi i64 [ 0, %if.end40.i.i ], [ %indvars.iv.next239.i.i, %for.body53.i.i ]
  %arrayidx56.i.i = getelementptr inbounds [3 x ptr], ptr %steps76.i, i64 0, i64 %indvars.iv238.i.i
  %124 = load ptr, ptr %arrayidx56.i.i, align 8
  %arrayidx59.i.i = getelementptr inbounds [6 x i64], ptr %124, i64 0, i64 %indvars.iv.next242.i.i
  %125 = load i64, ptr %arrayidx59.i.i, align 8
  %arrayidx64.i.i = getelementptr inbounds [3 x i64], ptr %steps62.i.i, i64 0, i64 %indvars.iv238.i.i
  store i64 %125, ptr %arrayidx64.i.i, align 8
  %indvars.iv.next239.i.i = add nuw nsw i64 %indvars.iv238.i.i, 1
  %exitcond.not.i.i184 = icmp eq i64 %indvars.iv.next239.i.i, 3
  br i1 %exitcond.not.i.i184, label %for.cond.cleanup52.i.i, label %for.body53.i.i

for.inc69.i.i:                                    ; preds = %for.cond.cleanup52.i.i, %if.then32.i.i, %for.body.i254.i
  %found.2.i.i = phi i32 [ %found.0226.i.i, %for.body.i254.i ], [ %found.0226.i.i, %if.then32.i.i ], [ %inc68.i.i, %for.cond.cleanup52.i.i ]
  %cmp.i256.i = icmp slt i64 %indvars.iv241.i.i, 2
  br i1 %cmp.i256.i, label %for.end72.i.i, label %for.body.i254.i

for.end72.i.i:                                    ; preds = %for.inc69.i.i
  %cmp73.i.i = icmp eq i32 %found.2.i.i, 0
  br i1 %cmp73.i.i, label %if.end79.thread.i.i, label %if.end79.i.i

if.end79.thread.i.i:                              ; preds = %for.end72.i.i, %if.end87.i
  %126 = getelementptr inbounds i8, ptr %axes.i.i, i64 8
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(40) %126, i8 0, i64 32, i1 false)
  store i64 1, ptr %axes.i.i, align 8
  br label %for.body85.lr.ph.i.i

if.end79.i.i:                                     ; preds = %for.end72.i.i
  %cmp82235.i.i = icmp sgt i32 %found.2.i.i, 0
  br i1 %cmp82235.i.i, label %for.body85.lr.ph.i.i, label %go_through.exit.i

for.body85.lr.ph.i.i:                             ; preds = %if.end79.i.i, %if.end79.thread.i.i
  %found.3261.i.i = phi i32 [ 1, %if.end79.thread.i.i ], [ %found.2.i.i, %if.end79.i.i ]
  %steps89.i.i = getelementptr inbounds i8, ptr %axes.i.i, i64 8
  %cmp92231.not.i.i = icmp eq i32 %found.3261.i.i, 1
  %wide.trip.count.i.i182 = zext nneg i32 %found.3261.i.i to i64
  br label %for.body85.i.i

for.body85.i.i:                                   ; preds = %for.end150.i.i, %for.body85.lr.ph.i.i
  call void %cond93.i(ptr noundef nonnull %loop.i, ptr noundef nonnull %axes.i.i, ptr noundef nonnull %steps89.i.i, ptr noundef %cond99.i) #7
  br i1 %cmp92231.not.i.i, label %for.end150.i.i, label %for.cond96.preheader.i.i

for.cond96.preheader.i.i:                         ; preds = %for.body85.i.i, %for.cond.cleanup130.i.i
  %indvars.iv252.i.i = phi i64 [ %indvars.iv.next253.i.i, %for.cond.cleanup130.i.i ], [ 1, %for.body85.i.i ]
  br label %for.body100.i.i

for.cond.cleanup99.i.i:                           ; preds = %for.body100.i.i
  %arrayidx113.i.i = getelementptr inbounds %struct.axis, ptr %axes.i.i, i64 %indvars.iv252.i.i
  %at114.i.i = getelementptr inbounds i8, ptr %arrayidx113.i.i, i64 32
  %127 = load i64, ptr %at114.i.i, align 8
  %inc115.i.i = add nsw i64 %127, 1
  store i64 %inc115.i.i, ptr %at114.i.i, align 8
  %128 = load i64, ptr %arrayidx113.i.i, align 8
  %cmp119.i.i = icmp slt i64 %inc115.i.i, %128
  br i1 %cmp119.i.i, label %for.end150.loopexit.i.i, label %if.end122.i.i

for.body100.i.i:                                  ; preds = %for.body100.i.i, %for.cond96.preheader.i.i
  %indvars.iv244.i.i = phi i64 [ 0, %for.cond96.preheader.i.i ], [ %indvars.iv.next245.i.i, %for.body100.i.i ]
  %arrayidx105.i.i = getelementptr inbounds %struct.axis, ptr %axes.i.i, i64 %indvars.iv252.i.i, i32 1, i64 %indvars.iv244.i.i
  %129 = load i64, ptr %arrayidx105.i.i, align 8
  %arrayidx107.i.i = getelementptr inbounds ptr, ptr %loop.i, i64 %indvars.iv244.i.i
  %130 = load ptr, ptr %arrayidx107.i.i, align 8
  %add.ptr.i.i183 = getelementptr inbounds i8, ptr %130, i64 %129
  store ptr %add.ptr.i.i183, ptr %arrayidx107.i.i, align 8
  %indvars.iv.next245.i.i = add nuw nsw i64 %indvars.iv244.i.i, 1
  %exitcond247.not.i.i = icmp eq i64 %indvars.iv.next245.i.i, 3
  br i1 %exitcond247.not.i.i, label %for.cond.cleanup99.i.i, label %for.body100.i.i

if.end122.i.i:                                    ; preds = %for.cond.cleanup99.i.i
  store i64 0, ptr %at114.i.i, align 8
  %steps134.i.i = getelementptr inbounds i8, ptr %arrayidx113.i.i, i64 8
  br label %for.body131.i.i

for.cond.cleanup130.i.i:                          ; preds = %for.body131.i.i
  %indvars.iv.next253.i.i = add nuw nsw i64 %indvars.iv252.i.i, 1
  %exitcond255.not.i.i = icmp eq i64 %indvars.iv.next253.i.i, %wide.trip.count.i.i182
  br i1 %exitcond255.not.i.i, label %go_through.exit.i, label %for.cond96.preheader.i.i

for.body131.i.i:                                  ; preds = %for.body131.i.i, %if.end122.i.i
  %indvars.iv248.i.i = phi i64 [ 0, %if.end122.i.i ], [ %indvars.iv.next249.i.i, %for.body131.i.i ]
  %arrayidx136.i.i = getelementptr inbounds [3 x i64], ptr %steps134.i.i, i64 0, i64 %indvars.iv248.i.i
  %131 = load i64, ptr %arrayidx136.i.i, align 8
  %arrayidx142.i.i = getelementptr inbounds ptr, ptr %loop.i, i64 %indvars.iv248.i.i
  %132 = load ptr, ptr %arrayidx142.i.i, align 8
  %133 = mul i64 %128, %131
  %mul140.reass.i.i = sub i64 0, %133
  %add.ptr143.i.i = getelementptr inbounds i8, ptr %132, i64 %mul140.reass.i.i
  store ptr %add.ptr143.i.i, ptr %arrayidx142.i.i, align 8
  %indvars.iv.next249.i.i = add nuw nsw i64 %indvars.iv248.i.i, 1
  %exitcond251.not.i.i = icmp eq i64 %indvars.iv.next249.i.i, 3
  br i1 %exitcond251.not.i.i, label %for.cond.cleanup130.i.i, label %for.body131.i.i

for.end150.loopexit.i.i:                          ; preds = %for.cond.cleanup99.i.i
  %134 = trunc nuw nsw i64 %indvars.iv252.i.i to i32
  br label %for.end150.i.i

for.end150.i.i:                                   ; preds = %for.end150.loopexit.i.i, %for.body85.i.i
  %k80.1.lcssa.i.i = phi i32 [ 1, %for.body85.i.i ], [ %134, %for.end150.loopexit.i.i ]
  %cmp82.i.i = icmp slt i32 %k80.1.lcssa.i.i, %found.3261.i.i
  br i1 %cmp82.i.i, label %for.body85.i.i, label %go_through.exit.i

go_through.exit.i:                                ; preds = %for.body.i254.i, %for.end150.i.i, %for.cond.cleanup130.i.i, %if.end79.i.i
  call void @llvm.lifetime.end.p0(i64 240, ptr nonnull %axes.i.i) #7
  %135 = load i64, ptr %flags.i, align 8
  %conv105.i = trunc i64 %135 to i32
  %call106.i = call i32 @fetestexcept(i32 noundef %conv105.i) #7
  %tobool107.not.i = icmp eq i32 %call106.i, 0
  br i1 %tobool107.not.i, label %if.else.i176, label %if.then108.i

if.then108.i:                                     ; preds = %go_through.exit.i
  %none109.i = getelementptr inbounds i8, ptr %70, i64 24
  %136 = load ptr, ptr %none109.i, align 8
  call void @Py_IncRef(ptr noundef %136) #7
  br label %if.end121.i

if.else.i176:                                     ; preds = %go_through.exit.i
  %conv.i.i.i = sext i32 %spec.select.i165 to i64
  %mul.i.i.i177 = shl nsw i64 %conv.i.i.i, 3
  br label %for.body.i261.i

for.body.i261.i:                                  ; preds = %for.inc.i.i, %if.else.i176
  %cmp.i262.i = phi i1 [ true, %if.else.i176 ], [ false, %for.inc.i.i ]
  %indvars.iv.i263.i.sroa.phi = phi ptr [ %given, %if.else.i176 ], [ %indvars.iv.i263.i.sroa.gep204, %for.inc.i.i ]
  %saved.i.i178 = getelementptr inbounds i8, ptr %indvars.iv.i263.i.sroa.phi, i64 8
  %137 = load ptr, ptr %saved.i.i178, align 8
  %nd.i.i.i.i179 = getelementptr inbounds i8, ptr %137, i64 24
  %138 = load i32, ptr %nd.i.i.i.i179, align 8
  %cmp.i.i.i = icmp eq i32 %138, %spec.select.i165
  br i1 %cmp.i.i.i, label %has_lengths.exit.i.i, label %for.inc.i.i

has_lengths.exit.i.i:                             ; preds = %for.body.i261.i
  %dimensions.i.i.i.i181 = getelementptr inbounds i8, ptr %137, i64 32
  %139 = load ptr, ptr %dimensions.i.i.i.i181, align 8
  %bcmp.i.i.i = call i32 @bcmp(ptr %139, ptr nonnull readonly %all.i, i64 %mul.i.i.i177)
  %cmp3.i.not.i.i = icmp eq i32 %bcmp.i.i.i, 0
  br i1 %cmp3.i.not.i.i, label %cleanup.i266.i, label %for.inc.i.i

for.inc.i.i:                                      ; preds = %has_lengths.exit.i.i, %for.body.i261.i
  br i1 %cmp.i262.i, label %for.body.i261.i, label %for.end.i.i

cleanup.i266.i:                                   ; preds = %has_lengths.exit.i.i
  %140 = load ptr, ptr %indvars.iv.i263.i.sroa.phi, align 8
  %spec_of_tensor.i.i = getelementptr inbounds i8, ptr %70, i64 192
  %141 = load i64, ptr %spec_of_tensor.i.i, align 8
  %add.ptr.i267.i = getelementptr inbounds i8, ptr %140, i64 %141
  %142 = load ptr, ptr %add.ptr.i267.i, align 8
  call void @Py_IncRef(ptr noundef %142) #7
  br label %spec_of_both.exit.i

for.end.i.i:                                      ; preds = %for.inc.i.i
  call void @llvm.lifetime.start.p0(i64 16, ptr nonnull %given.i.i) #7
  %call4.i.i = call ptr @PyTuple_New(i64 noundef %conv.i.i.i) #7
  store ptr %call4.i.i, ptr %given.i.i, align 8
  %arrayinit.element.i.i = getelementptr inbounds i8, ptr %given.i.i, i64 8
  %143 = load ptr, ptr %saved.i, align 8
  %descr.i.i.i = getelementptr inbounds i8, ptr %143, i64 56
  %144 = load ptr, ptr %descr.i.i.i, align 8
  store ptr %144, ptr %arrayinit.element.i.i, align 8
  %cmp12.i.i = icmp ne ptr %call4.i.i, null
  %145 = and i1 %cmp13278.i, %cmp12.i.i
  br i1 %145, label %for.body16.i.i, label %for.end30.i.i

for.body16.i.i:                                   ; preds = %for.end.i.i, %for.inc28.i.i
  %indvars.iv79.i.i = phi i64 [ %indvars.iv.next80.i.i, %for.inc28.i.i ], [ 0, %for.end.i.i ]
  %arrayidx18.i265.i = getelementptr inbounds i64, ptr %all.i, i64 %indvars.iv79.i.i
  %146 = load i64, ptr %arrayidx18.i265.i, align 8
  %call19.i.i = call ptr @PyLong_FromSsize_t(i64 noundef %146) #7
  %cmp20.i.i = icmp eq ptr %call19.i.i, null
  br i1 %cmp20.i.i, label %for.end30.loopexit.i.i, label %for.inc28.i.i

for.inc28.i.i:                                    ; preds = %for.body16.i.i
  %call25.i.i = call i32 @PyTuple_SetItem(ptr noundef nonnull %call4.i.i, i64 noundef %indvars.iv79.i.i, ptr noundef nonnull %call19.i.i) #7
  %indvars.iv.next80.i.i = add nuw nsw i64 %indvars.iv79.i.i, 1
  %exitcond287.not.i = icmp eq i64 %indvars.iv.next80.i.i, %conv.i.i.i
  br i1 %exitcond287.not.i, label %for.end30.loopexit.i.i, label %for.body16.i.i

for.end30.loopexit.i.i:                           ; preds = %for.inc28.i.i, %for.body16.i.i
  %k10.0.lcssa.ph.in.i.i = phi i64 [ %conv.i.i.i, %for.inc28.i.i ], [ %indvars.iv79.i.i, %for.body16.i.i ]
  %k10.0.lcssa.ph.i.i = trunc i64 %k10.0.lcssa.ph.in.i.i to i32
  br label %for.end30.i.i

for.end30.i.i:                                    ; preds = %for.end30.loopexit.i.i, %for.end.i.i
  %k10.0.lcssa.i.i = phi i32 [ 0, %for.end.i.i ], [ %k10.0.lcssa.ph.i.i, %for.end30.loopexit.i.i ]
  %cmp33.i.i = icmp eq i32 %k10.0.lcssa.i.i, %spec.select.i165
  %or.cond.i.i180 = and i1 %cmp12.i.i, %cmp33.i.i
  br i1 %or.cond.i.i180, label %if.then35.i.i, label %if.end38.i.i

if.then35.i.i:                                    ; preds = %for.end30.i.i
  %spec_for.i.i = getelementptr inbounds i8, ptr %70, i64 104
  %147 = load ptr, ptr %spec_for.i.i, align 8
  %call37.i.i = call ptr @PyObject_Vectorcall(ptr noundef %147, ptr noundef nonnull %given.i.i, i64 noundef 2, ptr noundef null) #7
  br label %if.end38.i.i

if.end38.i.i:                                     ; preds = %if.then35.i.i, %for.end30.i.i
  %spec.0.i.i = phi ptr [ %call37.i.i, %if.then35.i.i ], [ null, %for.end30.i.i ]
  call void @Py_DecRef(ptr noundef %call4.i.i) #7
  call void @llvm.lifetime.end.p0(i64 16, ptr nonnull %given.i.i) #7
  br label %spec_of_both.exit.i

spec_of_both.exit.i:                              ; preds = %if.end38.i.i, %cleanup.i266.i
  %retval.1.i.i = phi ptr [ %142, %cleanup.i266.i ], [ %spec.0.i.i, %if.end38.i.i ]
  %cmp114.i = icmp eq ptr %retval.1.i.i, null
  br i1 %cmp114.i, label %cond.end119.i, label %cond.false117.i

cond.false117.i:                                  ; preds = %spec_of_both.exit.i
  %loose.i = getelementptr inbounds i8, ptr %0, i64 16
  %148 = load ptr, ptr %loose.i, align 8
  %call118.i = call fastcc ptr @recorded(ptr noundef nonnull readonly %0, ptr noundef %148, ptr noundef nonnull %retval.1.i.i, ptr noundef nonnull readonly %given, ptr noundef nonnull %call63.i)
  br label %cond.end119.i

cond.end119.i:                                    ; preds = %cond.false117.i, %spec_of_both.exit.i
  %cond120.i = phi ptr [ %call118.i, %cond.false117.i ], [ null, %spec_of_both.exit.i ]
  call void @Py_DecRef(ptr noundef %retval.1.i.i) #7
  br label %if.end121.i

if.end121.i:                                      ; preds = %cond.end119.i, %if.then108.i
  %result.0.i = phi ptr [ %136, %if.then108.i ], [ %cond120.i, %cond.end119.i ]
  call void @Py_DecRef(ptr noundef nonnull %call63.i) #7
  call void @llvm.lifetime.end.p0(i64 24, ptr nonnull %steps76.i) #7
  call void @llvm.lifetime.end.p0(i64 48, ptr nonnull %loop.i) #7
  br label %cleanup122.i

cleanup122.i:                                     ; preds = %if.end121.i, %if.end56.i, %if.then53.i
  %retval.1.i = phi ptr [ %97, %if.then53.i ], [ %result.0.i, %if.end121.i ], [ null, %if.end56.i ]
  call void @llvm.lifetime.end.p0(i64 48, ptr nonnull %of_out.i) #7
  call void @llvm.lifetime.end.p0(i64 48, ptr nonnull %of_y.i) #7
  call void @llvm.lifetime.end.p0(i64 48, ptr nonnull %of_x.i) #7
  br label %broadcast.exit

broadcast.exit:                                   ; preds = %if.then.i, %cleanup122.i
  %retval.2.i = phi ptr [ %77, %if.then.i ], [ %retval.1.i, %cleanup122.i ]
  call void @llvm.lifetime.end.p0(i64 48, ptr nonnull %all.i) #7
  br label %cleanup115

if.end33:                                         ; preds = %if.end29
  call void @Py_IncRef(ptr noundef nonnull %67) #7
  %149 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx = getelementptr inbounds i8, ptr %149, i64 752
  %150 = load ptr, ptr %arrayidx, align 8
  %arrayidx35 = getelementptr inbounds i8, ptr %149, i64 16
  %151 = load ptr, ptr %arrayidx35, align 8
  %152 = load ptr, ptr %descr.i.i, align 8
  %153 = load i32, ptr %nd.i.i.i.i, align 8
  %dimensions.i = getelementptr inbounds i8, ptr %17, i64 32
  %154 = load ptr, ptr %dimensions.i, align 8
  %call39 = call ptr %150(ptr noundef %151, ptr noundef %152, i32 noundef %153, ptr noundef %154, ptr noundef null, ptr noundef null, i32 noundef 0, ptr noundef null) #7
  %cmp40 = icmp eq ptr %call39, null
  br i1 %cmp40, label %cleanup115, label %if.end42

if.end42:                                         ; preds = %if.end33
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %size) #7
  %155 = load i32, ptr %nd.i.i.i.i, align 8
  %cmp6.i = icmp sgt i32 %155, 0
  br i1 %cmp6.i, label %for.body.lr.ph.i195, label %size_of.exit

for.body.lr.ph.i195:                              ; preds = %if.end42
  %156 = load ptr, ptr %dimensions.i, align 8
  %wide.trip.count.i197 = zext nneg i32 %155 to i64
  br label %for.body.i198

for.body.i198:                                    ; preds = %for.body.i198, %for.body.lr.ph.i195
  %indvars.iv.i199 = phi i64 [ 0, %for.body.lr.ph.i195 ], [ %indvars.iv.next.i201, %for.body.i198 ]
  %size.07.i = phi i64 [ 1, %for.body.lr.ph.i195 ], [ %mul.i200, %for.body.i198 ]
  %arrayidx.i = getelementptr inbounds i64, ptr %156, i64 %indvars.iv.i199
  %157 = load i64, ptr %arrayidx.i, align 8
  %.fr236 = freeze i64 %157
  %mul.i200 = mul i64 %.fr236, %size.07.i
  %indvars.iv.next.i201 = add nuw nsw i64 %indvars.iv.i199, 1
  %exitcond.not.i202 = icmp eq i64 %indvars.iv.next.i201, %wide.trip.count.i197
  br i1 %exitcond.not.i202, label %size_of.exit, label %for.body.i198

size_of.exit:                                     ; preds = %for.body.i198, %if.end42
  %.fr = phi i64 [ 1, %if.end42 ], [ %mul.i200, %for.body.i198 ]
  store i64 %.fr, ptr %size, align 8
  call void @llvm.lifetime.start.p0(i64 48, ptr nonnull %all) #7
  %data = getelementptr inbounds i8, ptr %given, i64 16
  %158 = load ptr, ptr %data, align 8
  store ptr %158, ptr %all, align 8
  %arrayinit.element = getelementptr inbounds i8, ptr %all, i64 8
  %data46 = getelementptr inbounds i8, ptr %given, i64 64
  %159 = load ptr, ptr %data46, align 8
  store ptr %159, ptr %arrayinit.element, align 8
  %arrayinit.cur.ptr = getelementptr inbounds i8, ptr %all, i64 16
  store ptr null, ptr %arrayinit.cur.ptr, align 8
  %arrayinit.end = getelementptr inbounds i8, ptr %all, i64 24
  %step = getelementptr inbounds i8, ptr %given, i64 24
  %160 = load i64, ptr %step, align 8
  store i64 %160, ptr %arrayinit.end, align 8
  %arrayinit.element49 = getelementptr inbounds i8, ptr %all, i64 32
  %step51 = getelementptr inbounds i8, ptr %given, i64 72
  %161 = load i64, ptr %step51, align 8
  store i64 %161, ptr %arrayinit.element49, align 8
  %arrayinit.cur55.ptr = getelementptr inbounds i8, ptr %all, i64 40
  store i64 0, ptr %arrayinit.cur55.ptr, align 8
  %data.i203 = getelementptr inbounds i8, ptr %call39, i64 16
  %162 = load ptr, ptr %data.i203, align 8
  %163 = load i64, ptr %operands, align 8
  %arrayidx62 = getelementptr inbounds [3 x ptr], ptr %all, i64 0, i64 %163
  store ptr %162, ptr %arrayidx62, align 8
  %cmp63 = icmp eq i64 %.fr, 1
  %cond67 = select i1 %cmp20, i64 8, i64 4
  %spec.select = select i1 %cmp63, i64 0, i64 %cond67
  %arrayidx72 = getelementptr inbounds [3 x i64], ptr %arrayinit.end, i64 0, i64 %163
  store i64 %spec.select, ptr %arrayidx72, align 8
  %flags = getelementptr inbounds i8, ptr %1, i64 112
  %164 = load i64, ptr %flags, align 8
  %conv73 = trunc i64 %164 to i32
  %call74 = call i32 @fetestexcept(i32 noundef %conv73) #7
  %tobool75.not = icmp eq i32 %call74, 0
  br i1 %tobool75.not, label %if.end80, label %if.then76

if.then76:                                        ; preds = %size_of.exit
  %165 = load i64, ptr %flags, align 8
  %conv78 = trunc i64 %165 to i32
  %call79 = call i32 @feclearexcept(i32 noundef %conv78) #7
  br label %if.end80

if.end80:                                         ; preds = %if.then76, %size_of.exit
  %cmp81.not = icmp eq i64 %.fr, 0
  br i1 %cmp81.not, label %if.end94, label %if.then83

if.then83:                                        ; preds = %if.end80
  %cond93.in.v = select i1 %cmp20, i64 120, i64 112
  %cond93.in = getelementptr inbounds i8, ptr %0, i64 %cond93.in.v
  %cond93 = load ptr, ptr %cond93.in, align 8
  call void %cond24(ptr noundef nonnull %all, ptr noundef nonnull %size, ptr noundef nonnull %arrayinit.end, ptr noundef %cond93) #7
  br label %if.end94

if.end94:                                         ; preds = %if.then83, %if.end80
  %166 = load ptr, ptr %given, align 8
  %cmp96.not = icmp eq ptr %166, null
  %idxprom = zext i1 %cmp96.not to i64
  %arrayidx99 = getelementptr inbounds ptr, ptr %args, i64 %idxprom
  %167 = load ptr, ptr %arrayidx99, align 8
  %spec_of_tensor = getelementptr inbounds i8, ptr %1, i64 192
  %168 = load i64, ptr %spec_of_tensor, align 8
  %add.ptr = getelementptr inbounds i8, ptr %167, i64 %168
  %169 = load ptr, ptr %add.ptr, align 8
  %170 = load i64, ptr %flags, align 8
  %conv101 = trunc i64 %170 to i32
  %call102 = call i32 @fetestexcept(i32 noundef %conv101) #7
  %tobool103.not = icmp eq i32 %call102, 0
  br i1 %tobool103.not, label %cond.false107, label %cond.true104

cond.true104:                                     ; preds = %if.end94
  %none105 = getelementptr inbounds i8, ptr %1, i64 24
  %171 = load ptr, ptr %none105, align 8
  call void @Py_IncRef(ptr noundef %171) #7
  br label %cond.end109

cond.false107:                                    ; preds = %if.end94
  %node = getelementptr inbounds i8, ptr %0, i64 8
  %172 = load ptr, ptr %node, align 8
  %call108 = call fastcc ptr @recorded(ptr noundef nonnull %0, ptr noundef %172, ptr noundef %169, ptr noundef nonnull %given, ptr noundef nonnull %call39)
  br label %cond.end109

cond.end109:                                      ; preds = %cond.false107, %cond.true104
  %cond110 = phi ptr [ %171, %cond.true104 ], [ %call108, %cond.false107 ]
  call void @Py_DecRef(ptr noundef nonnull %call39) #7
  call void @llvm.lifetime.end.p0(i64 48, ptr nonnull %all) #7
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %size) #7
  br label %cleanup115

cleanup115:                                       ; preds = %if.then10, %cond.false14, %cond.end109, %if.end33, %broadcast.exit, %if.then26, %cond.end.thread208
  %retval.3 = phi ptr [ null, %cond.end.thread208 ], [ %66, %cond.false14 ], [ null, %if.then10 ], [ %69, %if.then26 ], [ %retval.2.i, %broadcast.exit ], [ %cond110, %cond.end109 ], [ null, %if.end33 ]
  call void @llvm.lifetime.end.p0(i64 96, ptr nonnull %given) #7
  ret ptr %retval.3
}

declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture) #1

declare void @llvm.memset.p0.i64(ptr nocapture writeonly, i8, i64, i1 immarg) #2

declare ptr @PyErr_Occurred() local_unnamed_addr #3

declare void @Py_IncRef(ptr noundef) local_unnamed_addr #3

declare i32 @fetestexcept(i32 noundef) local_unnamed_addr #4

declare i32 @feclearexcept(i32 noundef) local_unnamed_addr #4

define internal fastcc ptr @recorded(ptr nocapture noundef readonly %op, ptr noundef %kind, ptr noundef %spec, ptr nocapture noundef readonly %read, ptr noundef %out) unnamed_addr #0 {
entry:
  %found = alloca %struct.nodes, align 8
  %0 = load ptr, ptr %op, align 8
  call void @llvm.lifetime.start.p0(i64 16, ptr nonnull %found) #7
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
  tail call void @Py_DecRef(ptr noundef %3) #7
  br label %cleanup42

for.inc:                                          ; preds = %for.body
  %inc = add nuw nsw i64 %k.081, 1
  %4 = load i64, ptr %operands, align 8
  %cmp.not = icmp slt i64 %inc, %4
  br i1 %cmp.not, label %for.body, label %for.end

for.end:                                          ; preds = %for.inc, %entry
  %call9 = tail call fastcc ptr @new_tensor(ptr noundef %0, ptr noundef %out, ptr noundef %spec)
  %cmp10 = icmp eq ptr %call9, null
  %.pre86 = load i64, ptr %operands, align 8
  br i1 %cmp10, label %if.then19, label %lor.lhs.false

lor.lhs.false:                                    ; preds = %for.end
  %5 = load ptr, ptr %found, align 8
  %none = getelementptr inbounds i8, ptr %0, i64 24
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
  tail call void @Py_DecRef(ptr noundef %8) #7
  %inc28 = add nuw nsw i64 %k20.083, 1
  %9 = load i64, ptr %operands, align 8
  %cmp23 = icmp slt i64 %inc28, %9
  br i1 %cmp23, label %for.body25, label %cleanup42

if.end31:                                         ; preds = %lor.lhs.false.if.end31_crit_edge, %land.lhs.true
  %10 = phi ptr [ %.pre85, %lor.lhs.false.if.end31_crit_edge ], [ %7, %land.lhs.true ]
  %11 = load ptr, ptr %op, align 8
  %none.i = getelementptr inbounds i8, ptr %11, i64 24
  %12 = load ptr, ptr %none.i, align 8
  %cmp.not.i = icmp ne ptr %5, %12
  %cond.i = zext i1 %cmp.not.i to i64
  %cmp2.i = icmp eq i64 %.pre86, 2
  %cmp5.not.i = icmp eq ptr %10, %12
  %13 = select i1 %cmp5.not.i, i64 0, i64 2
  %cond6.i = select i1 %cmp2.i, i64 %13, i64 0
  %or.i = or disjoint i64 %cond6.i, %cond.i
  %call.i = tail call ptr @PyTuple_New(i64 noundef %.pre86) #7
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
  tail call void @Py_DecRef(ptr noundef %15) #7
  %inc.i = add nuw nsw i64 %k.0132.i, 1
  %16 = load i64, ptr %operands, align 8
  %cmp11.i = icmp slt i64 %inc.i, %16
  br i1 %cmp11.i, label %for.body.i, label %if.then34

for.cond.cleanup19.i:                             ; preds = %for.body20.i, %for.cond15.preheader.i
  %call26.i = tail call ptr @PyType_GenericAlloc(ptr noundef %kind, i64 noundef 0) #7
  %cmp27.i = icmp eq ptr %call26.i, null
  br i1 %cmp27.i, label %if.then34.sink.split, label %if.end30.i

for.body20.i:                                     ; preds = %for.cond15.preheader.i, %for.body20.i
  %k14.0130.i = phi i64 [ %inc24.i, %for.body20.i ], [ 0, %for.cond15.preheader.i ]
  %arrayidx21.i = getelementptr inbounds ptr, ptr %found, i64 %k14.0130.i
  %17 = load ptr, ptr %arrayidx21.i, align 8
  %call22.i = tail call i32 @PyTuple_SetItem(ptr noundef nonnull %call.i, i64 noundef %k14.0130.i, ptr noundef %17) #7
  %inc24.i = add nuw nsw i64 %k14.0130.i, 1
  %18 = load i64, ptr %operands, align 8
  %cmp17.i = icmp slt i64 %inc24.i, %18
  br i1 %cmp17.i, label %for.body20.i, label %for.cond.cleanup19.i

if.end30.i:                                       ; preds = %for.cond.cleanup19.i
  %next_of_node.i = getelementptr inbounds i8, ptr %11, i64 232
  %19 = load i64, ptr %next_of_node.i, align 8
  %add.ptr.i = getelementptr inbounds i8, ptr %call26.i, i64 %19
  store ptr %call.i, ptr %add.ptr.i, align 8
  tail call void @Py_IncRef(ptr noundef %spec) #7
  %spec_of_node.i = getelementptr inbounds i8, ptr %11, i64 256
  %20 = load i64, ptr %spec_of_node.i, align 8
  %add.ptr32.i = getelementptr inbounds i8, ptr %call26.i, i64 %20
  store ptr %spec, ptr %add.ptr32.i, align 8
  %21 = load ptr, ptr %none.i, align 8
  tail call void @Py_IncRef(ptr noundef %21) #7
  %rare_of_node.i = getelementptr inbounds i8, ptr %11, i64 240
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
  %not_saved.i = getelementptr inbounds i8, ptr %11, i64 48
  %25 = load ptr, ptr %not_saved.i, align 8
  br label %cond.end.i

cond.end.i:                                       ; preds = %cond.false.i, %if.then38.i
  %cond39.i = phi ptr [ %25, %cond.false.i ], [ %out, %if.then38.i ]
  tail call void @Py_IncRef(ptr noundef %cond39.i) #7
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
  %arrayidx55.i = getelementptr inbounds i8, ptr %read, i64 48
  %y_readers.i = getelementptr inbounds i8, ptr %op, i64 80
  %33 = load i64, ptr %y_readers.i, align 8
  %and56.i = and i64 %33, %or.i
  %cmp57.i = icmp ne i64 %and56.i, 0
  %conv58.i = zext i1 %cmp57.i to i32
  %call59.i = tail call fastcc i32 @save(ptr noundef nonnull %11, ptr noundef nonnull %call26.i, i64 noundef %31, i64 noundef %32, ptr noundef nonnull readonly %arrayidx55.i, i32 noundef %conv58.i)
  %cmp60.i = icmp slt i32 %call59.i, 0
  br i1 %cmp60.i, label %if.then34.sink.split, label %cond.end67.i

cond.end67.i:                                     ; preds = %land.rhs54.i, %lor.rhs.i
  %clock.i = getelementptr inbounds i8, ptr %11, i64 88
  %34 = load ptr, ptr %clock.i, align 8
  %call66.i = tail call ptr @PyObject_CallNoArgs(ptr noundef %34) #7
  %cmp69.i = icmp eq ptr %call66.i, null
  br i1 %cmp69.i, label %if.then34.sink.split, label %if.end35

if.then34.sink.split:                             ; preds = %if.end43.i, %land.rhs54.i, %cond.end67.i, %for.cond.cleanup19.i
  %call.i.sink = phi ptr [ %call.i, %for.cond.cleanup19.i ], [ %call26.i, %cond.end67.i ], [ %call26.i, %land.rhs54.i ], [ %call26.i, %if.end43.i ]
  tail call void @Py_DecRef(ptr noundef nonnull %call.i.sink) #7
  br label %if.then34

if.then34:                                        ; preds = %for.body.i, %if.then34.sink.split, %for.cond.preheader.i
  tail call void @Py_DecRef(ptr noundef nonnull %call9) #7
  br label %cleanup42

if.end35:                                         ; preds = %cond.end67.i
  %seq_of_node.i = getelementptr inbounds i8, ptr %11, i64 248
  %35 = load i64, ptr %seq_of_node.i, align 8
  %add.ptr73.i = getelementptr inbounds i8, ptr %call26.i, i64 %35
  store ptr %call66.i, ptr %add.ptr73.i, align 8
  %node_of_tensor = getelementptr inbounds i8, ptr %0, i64 200
  %36 = load i64, ptr %node_of_tensor, align 8
  %add.ptr = getelementptr inbounds i8, ptr %call9, i64 %36
  %37 = load ptr, ptr %add.ptr, align 8
  store ptr %call26.i, ptr %add.ptr, align 8
  tail call void @Py_DecRef(ptr noundef %37) #7
  br label %cleanup42

cleanup42:                                        ; preds = %for.body25, %if.then19, %if.then6, %if.then, %if.end35, %if.then34
  %retval.3 = phi ptr [ null, %if.then34 ], [ %call9, %if.end35 ], [ null, %if.then ], [ null, %if.then6 ], [ %call9, %if.then19 ], [ %call9, %for.body25 ]
  call void @llvm.lifetime.end.p0(i64 16, ptr nonnull %found) #7
  ret ptr %retval.3
}

declare void @Py_DecRef(ptr noundef) local_unnamed_addr #3

declare void @llvm.lifetime.end.p0(i64 immarg, ptr nocapture) #1

define ptr @NAME_direct(ptr nocapture noundef readonly %self, ptr nocapture noundef readonly %args, i64 noundef %count) local_unnamed_addr #0 {
entry:
  %read.i.i = alloca %struct.operand, align 8
  %given.i.i = alloca %struct.nodes, align 8
  %out.addr.i = alloca ptr, align 8
  %modes.i = alloca ptr, align 8
  %data.i = getelementptr inbounds i8, ptr %self, i64 16
  %0 = load ptr, ptr %data.i, align 8
  %1 = load ptr, ptr %0, align 8
  %2 = load ptr, ptr %args, align 8
  %arrayidx2 = getelementptr inbounds i8, ptr %args, i64 8
  %3 = load ptr, ptr %arrayidx2, align 8
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %modes.i) #7
  store ptr null, ptr %modes.i, align 8
  %modes1.i = getelementptr inbounds i8, ptr %1, i64 64
  %4 = load ptr, ptr %modes1.i, align 8
  %call.i = call i32 @PyContextVar_Get(ptr noundef %4, ptr noundef null, ptr noundef nonnull %modes.i) #7
  %cmp.i = icmp slt i32 %call.i, 0
  br i1 %cmp.i, label %are_normal.exit.thread, label %are_normal.exit

are_normal.exit.thread:                           ; preds = %entry
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %modes.i) #7
  br label %cleanup58

are_normal.exit:                                  ; preds = %entry
  %5 = load ptr, ptr %modes.i, align 8
  call void @Py_DecRef(ptr noundef %5) #7
  %6 = load ptr, ptr %modes.i, align 8
  %switch_.i = getelementptr inbounds i8, ptr %1, i64 72
  %7 = load ptr, ptr %switch_.i, align 8
  %normal_of_switch.i = getelementptr inbounds i8, ptr %1, i64 128
  %8 = load i64, ptr %normal_of_switch.i, align 8
  %add.ptr.i = getelementptr inbounds i8, ptr %7, i64 %8
  %9 = load ptr, ptr %add.ptr.i, align 8
  %cmp2.i.not = icmp eq ptr %6, %9
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %modes.i) #7
  br i1 %cmp2.i.not, label %lor.lhs.false, label %if.then16

lor.lhs.false:                                    ; preds = %are_normal.exit
  %call4 = call i64 @PyTuple_Size(ptr noundef %2) #7
  %operands5 = getelementptr inbounds i8, ptr %0, i64 136
  %10 = load i64, ptr %operands5, align 8
  %cmp6.not = icmp eq i64 %call4, %10
  br i1 %cmp6.not, label %lor.lhs.false7, label %if.then16

lor.lhs.false7:                                   ; preds = %lor.lhs.false
  %has_params = getelementptr inbounds i8, ptr %0, i64 120
  %11 = load i64, ptr %has_params, align 8
  %tobool8.not = icmp eq i64 %11, 0
  br i1 %tobool8.not, label %land.lhs.true, label %lor.lhs.false11

land.lhs.true:                                    ; preds = %lor.lhs.false7
  %call9 = call i64 @PyDict_Size(ptr noundef %3) #7
  %cmp10.not = icmp eq i64 %call9, 0
  br i1 %cmp10.not, label %lor.lhs.false11, label %if.then16

lor.lhs.false11:                                  ; preds = %land.lhs.true, %lor.lhs.false7
  %settings = getelementptr inbounds i8, ptr %0, i64 16
  %12 = load ptr, ptr %settings, align 8
  %cmp12.not = icmp eq ptr %12, null
  br i1 %cmp12.not, label %if.end18, label %land.lhs.true13

land.lhs.true13:                                  ; preds = %lor.lhs.false11
  %ob_type.i.i = getelementptr inbounds i8, ptr %3, i64 8
  %13 = load ptr, ptr %ob_type.i.i, align 8
  %cmp.i99 = icmp eq ptr %13, %12
  br i1 %cmp.i99, label %is_native_kind.exit, label %if.then16

is_native_kind.exit:                              ; preds = %land.lhs.true13
  %call_of_settings.i = getelementptr inbounds i8, ptr %0, i64 64
  %14 = load i64, ptr %call_of_settings.i, align 8
  %add.ptr.i100 = getelementptr inbounds i8, ptr %3, i64 %14
  %15 = load ptr, ptr %add.ptr.i100, align 8
  %function_of_kind.i = getelementptr inbounds i8, ptr %0, i64 72
  %16 = load i64, ptr %function_of_kind.i, align 8
  %add.ptr1.i = getelementptr inbounds i8, ptr %15, i64 %16
  %17 = load ptr, ptr %add.ptr1.i, align 8
  %18 = load ptr, ptr %0, align 8
  %none.i = getelementptr inbounds i8, ptr %18, i64 24
  %19 = load ptr, ptr %none.i, align 8
  %cmp2.i101.not = icmp eq ptr %17, %19
  br i1 %cmp2.i101.not, label %if.then16, label %if.end18

if.then16:                                        ; preds = %land.lhs.true13, %is_native_kind.exit, %land.lhs.true, %lor.lhs.false, %are_normal.exit
  %none = getelementptr inbounds i8, ptr %1, i64 24
  %20 = load ptr, ptr %none, align 8
  call void @Py_IncRef(ptr noundef %20) #7
  br label %cleanup58

if.end18:                                         ; preds = %is_native_kind.exit, %lor.lhs.false11
  %21 = load i64, ptr %operands5, align 8
  %cmp20.not149 = icmp sgt i64 %21, 0
  br i1 %cmp20.not149, label %for.body.lr.ph, label %for.end

for.body.lr.ph:                                   ; preds = %if.end18
  %extra_of_tensor.i = getelementptr inbounds i8, ptr %1, i64 216
  %none.i106 = getelementptr inbounds i8, ptr %1, i64 24
  %view.i.i = getelementptr inbounds i8, ptr %1, i64 16
  %open_levels.i.i = getelementptr inbounds i8, ptr %1, i64 80
  %node_of_tensor.i.i = getelementptr inbounds i8, ptr %1, i64 200
  %counter_of_tensor.i.i = getelementptr inbounds i8, ptr %1, i64 208
  %version_of_view.i.i = getelementptr inbounds i8, ptr %1, i64 160
  %value_of_counter.i.i = getelementptr inbounds i8, ptr %1, i64 152
  %data_of_tensor.i = getelementptr inbounds i8, ptr %1, i64 184
  %large = getelementptr inbounds i8, ptr %0, i64 128
  br label %for.body

for.cond:                                         ; preds = %size_of.exit
  %inc = add nuw nsw i64 %k.0150, 1
  %22 = load i64, ptr %operands5, align 8
  %cmp20.not = icmp slt i64 %inc, %22
  br i1 %cmp20.not, label %for.body, label %for.end

for.body:                                         ; preds = %for.body.lr.ph, %for.cond
  %k.0150 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %for.cond ]
  %call21 = call ptr @PyTuple_GetItem(ptr noundef %2, i64 noundef %k.0150) #7
  %ob_type.i.i102 = getelementptr inbounds i8, ptr %call21, i64 8
  %23 = load ptr, ptr %ob_type.i.i102, align 8
  %24 = load ptr, ptr %1, align 8
  %cmp.not.i = icmp eq ptr %23, %24
  br i1 %cmp.not.i, label %if.end.i104, label %cleanup31.thread144

if.end.i104:                                      ; preds = %for.body
  %25 = load i64, ptr %extra_of_tensor.i, align 8
  %add.ptr.i105 = getelementptr inbounds i8, ptr %call21, i64 %25
  %26 = load ptr, ptr %add.ptr.i105, align 8
  %27 = load ptr, ptr %none.i106, align 8
  %cmp1.i = icmp eq ptr %26, %27
  br i1 %cmp1.i, label %is_usual.exit, label %lor.lhs.false.i

lor.lhs.false.i:                                  ; preds = %if.end.i104
  %ob_type.i.i.i = getelementptr inbounds i8, ptr %26, i64 8
  %28 = load ptr, ptr %ob_type.i.i.i, align 8
  %29 = load ptr, ptr %view.i.i, align 8
  %cmp.not.i.i = icmp eq ptr %28, %29
  br i1 %cmp.not.i.i, label %lor.lhs.false.i.i, label %cleanup31.thread144

lor.lhs.false.i.i:                                ; preds = %lor.lhs.false.i
  %30 = load ptr, ptr %open_levels.i.i, align 8
  %call1.i.i = call i32 @PyObject_IsTrue(ptr noundef %30) #7
  %cmp2.not.i.i = icmp eq i32 %call1.i.i, 0
  br i1 %cmp2.not.i.i, label %lor.lhs.false3.i.i, label %cleanup31.thread144

lor.lhs.false3.i.i:                               ; preds = %lor.lhs.false.i.i
  %31 = load i64, ptr %node_of_tensor.i.i, align 8
  %add.ptr.i.i = getelementptr inbounds i8, ptr %call21, i64 %31
  %32 = load ptr, ptr %add.ptr.i.i, align 8
  %33 = load ptr, ptr %none.i106, align 8
  %cmp4.i.i = icmp eq ptr %32, %33
  br i1 %cmp4.i.i, label %cleanup31.thread144, label %is_fresh.exit.i

is_fresh.exit.i:                                  ; preds = %lor.lhs.false3.i.i
  %34 = load i64, ptr %counter_of_tensor.i.i, align 8
  %add.ptr5.i.i = getelementptr inbounds i8, ptr %call21, i64 %34
  %35 = load ptr, ptr %add.ptr5.i.i, align 8
  %36 = load i64, ptr %version_of_view.i.i, align 8
  %add.ptr6.i.i = getelementptr inbounds i8, ptr %26, i64 %36
  %37 = load ptr, ptr %add.ptr6.i.i, align 8
  %38 = load i64, ptr %value_of_counter.i.i, align 8
  %add.ptr7.i.i = getelementptr inbounds i8, ptr %35, i64 %38
  %39 = load ptr, ptr %add.ptr7.i.i, align 8
  %call8.i.i = call i32 @PyObject_RichCompareBool(ptr noundef %37, ptr noundef %39, i32 noundef 2) #7
  %cmp9.i.not.i = icmp eq i32 %call8.i.i, 1
  br i1 %cmp9.i.not.i, label %is_usual.exit, label %cleanup31.thread144

is_usual.exit:                                    ; preds = %if.end.i104, %is_fresh.exit.i
  %40 = load i64, ptr %data_of_tensor.i, align 8
  %add.ptr3.i = getelementptr inbounds i8, ptr %call21, i64 %40
  %41 = load ptr, ptr %add.ptr3.i, align 8
  %ob_type.i14.i = getelementptr inbounds i8, ptr %41, i64 8
  %42 = load ptr, ptr %ob_type.i14.i, align 8
  %43 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx.i = getelementptr inbounds i8, ptr %43, i64 16
  %44 = load ptr, ptr %arrayidx.i, align 8
  %cmp5.i.not = icmp eq ptr %42, %44
  br i1 %cmp5.i.not, label %lor.lhs.false24, label %cleanup31.thread144

lor.lhs.false24:                                  ; preds = %is_usual.exit
  %nd.i.i = getelementptr inbounds i8, ptr %41, i64 24
  %45 = load i32, ptr %nd.i.i, align 8
  %cmp6.i = icmp sgt i32 %45, 0
  br i1 %cmp6.i, label %for.body.lr.ph.i, label %size_of.exit

for.body.lr.ph.i:                                 ; preds = %lor.lhs.false24
  %dimensions.i.i = getelementptr inbounds i8, ptr %41, i64 32
  %46 = load ptr, ptr %dimensions.i.i, align 8
  %wide.trip.count.i = zext nneg i32 %45 to i64
  br label %for.body.i

for.body.i:                                       ; preds = %for.body.i, %for.body.lr.ph.i
  %indvars.iv.i = phi i64 [ 0, %for.body.lr.ph.i ], [ %indvars.iv.next.i, %for.body.i ]
  %size.07.i = phi i64 [ 1, %for.body.lr.ph.i ], [ %mul.i, %for.body.i ]
  %arrayidx.i108 = getelementptr inbounds i64, ptr %46, i64 %indvars.iv.i
  %47 = load i64, ptr %arrayidx.i108, align 8
  %mul.i = mul nsw i64 %47, %size.07.i
  %indvars.iv.next.i = add nuw nsw i64 %indvars.iv.i, 1
  %exitcond.not.i = icmp eq i64 %indvars.iv.next.i, %wide.trip.count.i
  br i1 %exitcond.not.i, label %size_of.exit, label %for.body.i

size_of.exit:                                     ; preds = %for.body.i, %lor.lhs.false24
  %size.0.lcssa.i = phi i64 [ 1, %lor.lhs.false24 ], [ %mul.i, %for.body.i ]
  %48 = load i64, ptr %large, align 8
  %cmp26.not = icmp slt i64 %size.0.lcssa.i, %48
  br i1 %cmp26.not, label %for.cond, label %cleanup31

cleanup31.thread144:                              ; preds = %is_usual.exit, %for.body, %is_fresh.exit.i, %lor.lhs.false3.i.i, %lor.lhs.false.i.i, %lor.lhs.false.i
  %49 = load ptr, ptr %none.i106, align 8
  call void @Py_IncRef(ptr noundef %49) #7
  br label %cleanup58

cleanup31:                                        ; preds = %size_of.exit
  %50 = load ptr, ptr %none.i106, align 8
  call void @Py_IncRef(ptr noundef %50) #7
  br label %cleanup58

for.end:                                          ; preds = %for.cond, %if.end18
  %51 = phi i64 [ %21, %if.end18 ], [ %22, %for.cond ]
  %call34 = call ptr @PyTuple_New(i64 noundef %51) #7
  %cmp35 = icmp eq ptr %call34, null
  br i1 %cmp35, label %cleanup58, label %for.cond39.preheader

for.cond39.preheader:                             ; preds = %for.end
  %52 = load i64, ptr %operands5, align 8
  %cmp41151 = icmp sgt i64 %52, 0
  br i1 %cmp41151, label %for.body43.lr.ph, label %for.cond.cleanup42

for.body43.lr.ph:                                 ; preds = %for.cond39.preheader
  %data_of_tensor45 = getelementptr inbounds i8, ptr %1, i64 184
  br label %for.body43

for.cond.cleanup42:                               ; preds = %for.body43, %for.cond39.preheader
  %53 = load ptr, ptr %settings, align 8
  %cmp.i110 = icmp eq ptr %53, null
  br i1 %cmp.i110, label %if.then.i, label %if.end.i111

if.then.i:                                        ; preds = %for.cond.cleanup42
  %kernel.i = getelementptr inbounds i8, ptr %0, i64 24
  %54 = load ptr, ptr %kernel.i, align 8
  %55 = load i64, ptr %has_params, align 8
  %tobool.not.i = icmp eq i64 %55, 0
  %cond.i = select i1 %tobool.not.i, ptr null, ptr %3
  %call.i116 = call ptr @PyObject_Call(ptr noundef %54, ptr noundef nonnull %call34, ptr noundef %cond.i) #7
  br label %compute.exit

if.end.i111:                                      ; preds = %for.cond.cleanup42
  %call_of_settings.i112 = getelementptr inbounds i8, ptr %0, i64 64
  %56 = load i64, ptr %call_of_settings.i112, align 8
  %add.ptr.i113 = getelementptr inbounds i8, ptr %3, i64 %56
  %57 = load ptr, ptr %add.ptr.i113, align 8
  %function_of_kind.i114 = getelementptr inbounds i8, ptr %0, i64 72
  %58 = load i64, ptr %function_of_kind.i114, align 8
  %add.ptr1.i115 = getelementptr inbounds i8, ptr %57, i64 %58
  %59 = load ptr, ptr %add.ptr1.i115, align 8
  call void @Py_IncRef(ptr noundef %59) #7
  %call2.i = call ptr @PyObject_CallObject(ptr noundef %59, ptr noundef nonnull %call34) #7
  call void @Py_DecRef(ptr noundef %59) #7
  %cmp3.i = icmp eq ptr %call2.i, null
  br i1 %cmp3.i, label %compute.exit.thread, label %if.end5.i

compute.exit.thread:                              ; preds = %if.end.i111
  call void @Py_DecRef(ptr noundef nonnull %call34) #7
  br label %cleanup58

if.end5.i:                                        ; preds = %if.end.i111
  %call6.i = call ptr @PyTuple_GetItem(ptr noundef nonnull %call2.i, i64 noundef 0) #7
  call void @Py_IncRef(ptr noundef %call6.i) #7
  call void @Py_DecRef(ptr noundef nonnull %call2.i) #7
  br label %compute.exit

compute.exit:                                     ; preds = %if.then.i, %if.end5.i
  %retval.1.i = phi ptr [ %call.i116, %if.then.i ], [ %call6.i, %if.end5.i ]
  call void @Py_DecRef(ptr noundef nonnull %call34) #7
  %cmp54 = icmp eq ptr %retval.1.i, null
  br i1 %cmp54, label %cleanup58, label %cond.false

for.body43:                                       ; preds = %for.body43.lr.ph, %for.body43
  %k38.0152 = phi i64 [ 0, %for.body43.lr.ph ], [ %inc50, %for.body43 ]
  %call44 = call ptr @PyTuple_GetItem(ptr noundef %2, i64 noundef %k38.0152) #7
  %60 = load i64, ptr %data_of_tensor45, align 8
  %add.ptr46 = getelementptr inbounds i8, ptr %call44, i64 %60
  %61 = load ptr, ptr %add.ptr46, align 8
  call void @Py_IncRef(ptr noundef %61) #7
  %call48 = call i32 @PyTuple_SetItem(ptr noundef nonnull %call34, i64 noundef %k38.0152, ptr noundef %61) #7
  %inc50 = add nuw nsw i64 %k38.0152, 1
  %62 = load i64, ptr %operands5, align 8
  %cmp41 = icmp slt i64 %inc50, %62
  br i1 %cmp41, label %for.body43, label %for.cond.cleanup42

cond.false:                                       ; preds = %compute.exit
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %out.addr.i)
  store ptr %retval.1.i, ptr %out.addr.i, align 8
  %63 = load ptr, ptr %0, align 8
  %ob_type.i.i117 = getelementptr inbounds i8, ptr %retval.1.i, i64 8
  %64 = load ptr, ptr %ob_type.i.i117, align 8
  %65 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx.i118 = getelementptr inbounds i8, ptr %65, i64 16
  %66 = load ptr, ptr %arrayidx.i118, align 8
  %cmp.not.i119 = icmp eq ptr %64, %66
  br i1 %cmp.not.i119, label %if.end5.i123, label %if.then.i120

if.then.i120:                                     ; preds = %cond.false
  %asarray.i = getelementptr inbounds i8, ptr %0, i64 32
  %67 = load ptr, ptr %asarray.i, align 8
  %call2.i121 = call ptr @PyObject_Vectorcall(ptr noundef %67, ptr noundef nonnull %out.addr.i, i64 noundef 1, ptr noundef null) #7
  %68 = load ptr, ptr %out.addr.i, align 8
  call void @Py_DecRef(ptr noundef %68) #7
  %cmp3.not.i = icmp eq ptr %call2.i121, null
  br i1 %cmp3.not.i, label %result_of.exit, label %if.end.i122

if.end.i122:                                      ; preds = %if.then.i120
  store ptr %call2.i121, ptr %out.addr.i, align 8
  %.pre.i = load ptr, ptr %0, align 8
  br label %if.end5.i123

if.end5.i123:                                     ; preds = %if.end.i122, %cond.false
  %69 = phi ptr [ %.pre.i, %if.end.i122 ], [ %63, %cond.false ]
  %70 = phi ptr [ %call2.i121, %if.end.i122 ], [ %retval.1.i, %cond.false ]
  %71 = load i64, ptr %operands5, align 8
  %cmp.not67.i.i = icmp sgt i64 %71, 0
  br i1 %cmp.not67.i.i, label %for.body.lr.ph.i.i, label %for.end.i.i

for.body.lr.ph.i.i:                               ; preds = %if.end5.i123
  %data_of_tensor.i.i = getelementptr inbounds i8, ptr %69, i64 184
  %descr.i59.i.i = getelementptr inbounds i8, ptr %70, i64 56
  %nd.i60.i.i = getelementptr inbounds i8, ptr %70, i64 24
  %dimensions.i61.i.i = getelementptr inbounds i8, ptr %70, i64 32
  br label %for.body.i.i

for.body.i.i:                                     ; preds = %for.inc.i.i, %for.body.lr.ph.i.i
  %k.068.i.i = phi i64 [ 0, %for.body.lr.ph.i.i ], [ %inc.i.i, %for.inc.i.i ]
  %call.i.i = call ptr @PyTuple_GetItem(ptr noundef %2, i64 noundef %k.068.i.i) #7
  %72 = load i64, ptr %data_of_tensor.i.i, align 8
  %add.ptr.i.i132 = getelementptr inbounds i8, ptr %call.i.i, i64 %72
  %73 = load ptr, ptr %add.ptr.i.i132, align 8
  %descr.i.i.i = getelementptr inbounds i8, ptr %73, i64 56
  %74 = load ptr, ptr %descr.i.i.i, align 8
  %75 = load ptr, ptr %descr.i59.i.i, align 8
  %cmp5.i.i = icmp eq ptr %74, %75
  br i1 %cmp5.i.i, label %land.lhs.true.i.i, label %for.inc.i.i

land.lhs.true.i.i:                                ; preds = %for.body.i.i
  %nd.i.i.i = getelementptr inbounds i8, ptr %73, i64 24
  %76 = load i32, ptr %nd.i.i.i, align 8
  %77 = load i32, ptr %nd.i60.i.i, align 8
  %cmp8.i.i = icmp eq i32 %76, %77
  br i1 %cmp8.i.i, label %land.lhs.true9.i.i, label %for.inc.i.i

land.lhs.true9.i.i:                               ; preds = %land.lhs.true.i.i
  %dimensions.i.i.i = getelementptr inbounds i8, ptr %73, i64 32
  %78 = load ptr, ptr %dimensions.i.i.i, align 8
  %79 = load ptr, ptr %dimensions.i61.i.i, align 8
  %conv.i.i = sext i32 %76 to i64
  %mul.i.i = shl nsw i64 %conv.i.i, 3
  %bcmp.i.i = call i32 @bcmp(ptr %78, ptr %79, i64 %mul.i.i)
  %cmp14.i.i = icmp eq i32 %bcmp.i.i, 0
  br i1 %cmp14.i.i, label %cleanup19.thread.i.i, label %for.inc.i.i

cleanup19.thread.i.i:                             ; preds = %land.lhs.true9.i.i
  %spec_of_tensor.i.i = getelementptr inbounds i8, ptr %69, i64 192
  %80 = load i64, ptr %spec_of_tensor.i.i, align 8
  %add.ptr16.i.i = getelementptr inbounds i8, ptr %call.i.i, i64 %80
  %81 = load ptr, ptr %add.ptr16.i.i, align 8
  call void @Py_IncRef(ptr noundef %81) #7
  br label %spec_of.exit.i

for.inc.i.i:                                      ; preds = %land.lhs.true9.i.i, %land.lhs.true.i.i, %for.body.i.i
  %inc.i.i = add nuw nsw i64 %k.068.i.i, 1
  %82 = load i64, ptr %operands5, align 8
  %cmp.not.i.i133 = icmp slt i64 %inc.i.i, %82
  br i1 %cmp.not.i.i133, label %for.body.i.i, label %for.end.i.i

for.end.i.i:                                      ; preds = %for.inc.i.i, %if.end5.i123
  call void @llvm.lifetime.start.p0(i64 16, ptr nonnull %given.i.i) #7
  %shape.i.i = getelementptr inbounds i8, ptr %0, i64 48
  %83 = load ptr, ptr %shape.i.i, align 8
  %call21.i.i = call ptr @PyObject_GetAttr(ptr noundef nonnull %70, ptr noundef %83) #7
  store ptr %call21.i.i, ptr %given.i.i, align 8
  %arrayinit.element.i.i = getelementptr inbounds i8, ptr %given.i.i, i64 8
  %dtype.i.i = getelementptr inbounds i8, ptr %0, i64 56
  %84 = load ptr, ptr %dtype.i.i, align 8
  %call22.i.i = call ptr @PyObject_GetAttr(ptr noundef nonnull %70, ptr noundef %84) #7
  store ptr %call22.i.i, ptr %arrayinit.element.i.i, align 8
  %cmp24.i.i = icmp ne ptr %call21.i.i, null
  %cmp29.i.i = icmp ne ptr %call22.i.i, null
  %or.cond.i.i = select i1 %cmp24.i.i, i1 %cmp29.i.i, i1 false
  br i1 %or.cond.i.i, label %if.then31.i.i, label %if.end34.i.i

if.then31.i.i:                                    ; preds = %for.end.i.i
  %spec_for.i.i = getelementptr inbounds i8, ptr %0, i64 40
  %85 = load ptr, ptr %spec_for.i.i, align 8
  %call33.i.i = call ptr @PyObject_Vectorcall(ptr noundef %85, ptr noundef nonnull %given.i.i, i64 noundef 2, ptr noundef null) #7
  %.pre.i.i = load ptr, ptr %given.i.i, align 8
  br label %if.end34.i.i

if.end34.i.i:                                     ; preds = %if.then31.i.i, %for.end.i.i
  %86 = phi ptr [ %.pre.i.i, %if.then31.i.i ], [ %call21.i.i, %for.end.i.i ]
  %spec.0.i.i = phi ptr [ %call33.i.i, %if.then31.i.i ], [ null, %for.end.i.i ]
  call void @Py_DecRef(ptr noundef %86) #7
  %87 = load ptr, ptr %arrayinit.element.i.i, align 8
  call void @Py_DecRef(ptr noundef %87) #7
  call void @llvm.lifetime.end.p0(i64 16, ptr nonnull %given.i.i) #7
  br label %spec_of.exit.i

spec_of.exit.i:                                   ; preds = %if.end34.i.i, %cleanup19.thread.i.i
  %retval.3.i.i = phi ptr [ %spec.0.i.i, %if.end34.i.i ], [ %81, %cleanup19.thread.i.i ]
  %cmp7.i = icmp eq ptr %retval.3.i.i, null
  br i1 %cmp7.i, label %cond.end.i, label %cond.false.i

cond.false.i:                                     ; preds = %spec_of.exit.i
  %88 = load ptr, ptr %out.addr.i, align 8
  %call8.i = call fastcc ptr @new_tensor(ptr noundef %63, ptr noundef %88, ptr noundef nonnull %retval.3.i.i)
  br label %cond.end.i

cond.end.i:                                       ; preds = %cond.false.i, %spec_of.exit.i
  %cond.i124 = phi ptr [ %call8.i, %cond.false.i ], [ null, %spec_of.exit.i ]
  %89 = load i64, ptr %operands5, align 8
  %cmp1090.i = icmp sgt i64 %89, 0
  br i1 %cmp1090.i, label %for.body.lr.ph.i126, label %if.end34.i

for.body.lr.ph.i126:                              ; preds = %cond.end.i
  %is_differentiable_of_spec.i.i = getelementptr inbounds i8, ptr %0, i64 80
  br label %for.body.i127

for.cond.cleanup.i:                               ; preds = %is_wanted.exit.i
  %cmp14.i = icmp ne ptr %cond.i124, null
  %cmp16.i = icmp ne i64 %or.i, 0
  %or.cond.i = select i1 %cmp14.i, i1 %cmp16.i, i1 false
  br i1 %or.cond.i, label %land.lhs.true18.i, label %if.end34.i

for.body.i127:                                    ; preds = %is_wanted.exit.i, %for.body.lr.ph.i126
  %k.092.i = phi i64 [ 0, %for.body.lr.ph.i126 ], [ %inc.i, %is_wanted.exit.i ]
  %wanted.091.i = phi i64 [ 0, %for.body.lr.ph.i126 ], [ %or.i, %is_wanted.exit.i ]
  %call11.i = call ptr @PyTuple_GetItem(ptr noundef %2, i64 noundef %k.092.i) #7
  %90 = load ptr, ptr %0, align 8
  %node_of_tensor.i.i128 = getelementptr inbounds i8, ptr %90, i64 200
  %91 = load i64, ptr %node_of_tensor.i.i128, align 8
  %add.ptr2.i.i = getelementptr inbounds i8, ptr %call11.i, i64 %91
  %92 = load ptr, ptr %add.ptr2.i.i, align 8
  %none.i.i = getelementptr inbounds i8, ptr %90, i64 24
  %93 = load ptr, ptr %none.i.i, align 8
  %cmp.not.i69.i = icmp eq ptr %92, %93
  br i1 %cmp.not.i69.i, label %is_wanted.exit.i, label %land.rhs.i.i

land.rhs.i.i:                                     ; preds = %for.body.i127
  %spec_of_tensor.i70.i = getelementptr inbounds i8, ptr %90, i64 192
  %94 = load i64, ptr %spec_of_tensor.i70.i, align 8
  %add.ptr.i71.i = getelementptr inbounds i8, ptr %call11.i, i64 %94
  %95 = load ptr, ptr %add.ptr.i71.i, align 8
  %96 = load i64, ptr %is_differentiable_of_spec.i.i, align 8
  %add.ptr4.i.i = getelementptr inbounds i8, ptr %95, i64 %96
  %97 = load ptr, ptr %add.ptr4.i.i, align 8
  %true_.i.i = getelementptr inbounds i8, ptr %90, i64 32
  %98 = load ptr, ptr %true_.i.i, align 8
  %cmp6.i.i = icmp eq ptr %97, %98
  %99 = zext i1 %cmp6.i.i to i64
  br label %is_wanted.exit.i

is_wanted.exit.i:                                 ; preds = %land.rhs.i.i, %for.body.i127
  %land.ext.i.i = phi i64 [ 0, %for.body.i127 ], [ %99, %land.rhs.i.i ]
  %shl.i = shl nuw i64 %land.ext.i.i, %k.092.i
  %or.i = or i64 %shl.i, %wanted.091.i
  %inc.i = add nuw nsw i64 %k.092.i, 1
  %100 = load i64, ptr %operands5, align 8
  %cmp10.i = icmp slt i64 %inc.i, %100
  br i1 %cmp10.i, label %for.body.i127, label %for.cond.cleanup.i

land.lhs.true18.i:                                ; preds = %for.cond.cleanup.i
  %101 = load i64, ptr %is_differentiable_of_spec.i.i, align 8
  %add.ptr.i129 = getelementptr inbounds i8, ptr %retval.3.i.i, i64 %101
  %102 = load ptr, ptr %add.ptr.i129, align 8
  %true_.i = getelementptr inbounds i8, ptr %63, i64 32
  %103 = load ptr, ptr %true_.i, align 8
  %cmp19.i = icmp eq ptr %102, %103
  br i1 %cmp19.i, label %if.then21.i, label %if.end34.i

if.then21.i:                                      ; preds = %land.lhs.true18.i
  %node22.i = getelementptr inbounds i8, ptr %0, i64 8
  %104 = load ptr, ptr %node22.i, align 8
  %call23.i = call ptr @PyType_GenericAlloc(ptr noundef %104, i64 noundef 0) #7
  %cmp24.i = icmp eq ptr %call23.i, null
  br i1 %cmp24.i, label %if.then29.i, label %lor.lhs.false.i130

lor.lhs.false.i130:                               ; preds = %if.then21.i
  %105 = load ptr, ptr %out.addr.i, align 8
  %106 = load ptr, ptr %0, align 8
  %rest.i.i = getelementptr inbounds i8, ptr %0, i64 144
  %107 = load i64, ptr %operands5, align 8
  %call.i73.i = call ptr @PyTuple_New(i64 noundef %107) #7
  %108 = load i64, ptr %operands5, align 8
  %call4.i.i = call ptr @PyTuple_New(i64 noundef %108) #7
  %next_of_node.i.i = getelementptr inbounds i8, ptr %106, i64 232
  %109 = load i64, ptr %next_of_node.i.i, align 8
  %add.ptr.i74.i = getelementptr inbounds i8, ptr %call23.i, i64 %109
  store ptr %call.i73.i, ptr %add.ptr.i74.i, align 8
  %specs_of_node.i.i = getelementptr inbounds i8, ptr %0, i64 96
  %110 = load i64, ptr %specs_of_node.i.i, align 8
  %add.ptr5.i.i131 = getelementptr inbounds i8, ptr %call23.i, i64 %110
  store ptr %call4.i.i, ptr %add.ptr5.i.i131, align 8
  %cmp.i.i = icmp eq ptr %call.i73.i, null
  %cmp6.i75.i = icmp eq ptr %call4.i.i, null
  %or.cond.i76.i = select i1 %cmp.i.i, i1 true, i1 %cmp6.i75.i
  br i1 %or.cond.i76.i, label %if.then29.i, label %if.end.i.i

if.end.i.i:                                       ; preds = %lor.lhs.false.i130
  call void @Py_IncRef(ptr noundef nonnull %retval.3.i.i) #7
  %spec_of_node.i.i = getelementptr inbounds i8, ptr %106, i64 256
  %111 = load i64, ptr %spec_of_node.i.i, align 8
  %add.ptr8.i.i = getelementptr inbounds i8, ptr %call23.i, i64 %111
  store ptr %retval.3.i.i, ptr %add.ptr8.i.i, align 8
  %none.i77.i = getelementptr inbounds i8, ptr %106, i64 24
  %112 = load ptr, ptr %none.i77.i, align 8
  call void @Py_IncRef(ptr noundef %112) #7
  %rare_of_node.i.i = getelementptr inbounds i8, ptr %106, i64 240
  %113 = load i64, ptr %rare_of_node.i.i, align 8
  %add.ptr10.i.i = getelementptr inbounds i8, ptr %call23.i, i64 %113
  store ptr %112, ptr %add.ptr10.i.i, align 8
  call void @Py_IncRef(ptr noundef %3) #7
  %params_of_node.i.i = getelementptr inbounds i8, ptr %0, i64 88
  %114 = load i64, ptr %params_of_node.i.i, align 8
  %add.ptr12.i.i = getelementptr inbounds i8, ptr %call23.i, i64 %114
  store ptr %3, ptr %add.ptr12.i.i, align 8
  %out_data.i.i = getelementptr inbounds i8, ptr %0, i64 104
  %115 = load i64, ptr %out_data.i.i, align 8
  %cmp13.not.i.i = icmp eq i64 %115, 0
  br i1 %cmp13.not.i.i, label %if.end18.i.i, label %if.then14.i.i

if.then14.i.i:                                    ; preds = %if.end.i.i
  %out_readers.i.i = getelementptr inbounds i8, ptr %0, i64 112
  %116 = load i64, ptr %out_readers.i.i, align 8
  %and.i.i = and i64 %116, %or.i
  %tobool.not.i.i = icmp eq i64 %and.i.i, 0
  br i1 %tobool.not.i.i, label %cond.false.i.i, label %cond.end.i.i

cond.false.i.i:                                   ; preds = %if.then14.i.i
  %not_saved.i.i = getelementptr inbounds i8, ptr %106, i64 48
  %117 = load ptr, ptr %not_saved.i.i, align 8
  br label %cond.end.i.i

cond.end.i.i:                                     ; preds = %cond.false.i.i, %if.then14.i.i
  %cond.i.i = phi ptr [ %117, %cond.false.i.i ], [ %105, %if.then14.i.i ]
  call void @Py_IncRef(ptr noundef %cond.i.i) #7
  %118 = load i64, ptr %out_data.i.i, align 8
  %add.ptr17.i.i = getelementptr inbounds i8, ptr %call23.i, i64 %118
  store ptr %cond.i.i, ptr %add.ptr17.i.i, align 8
  br label %if.end18.i.i

if.end18.i.i:                                     ; preds = %cond.end.i.i, %if.end.i.i
  %119 = load i64, ptr %operands5, align 8
  %cmp20.not115.i.i = icmp sgt i64 %119, 0
  br i1 %cmp20.not115.i.i, label %for.body.lr.ph.i79.i, label %fill.exit.i

for.body.lr.ph.i79.i:                             ; preds = %if.end18.i.i
  %spec_of_tensor.i80.i = getelementptr inbounds i8, ptr %106, i64 192
  %saved.i.i = getelementptr inbounds i8, ptr %read.i.i, i64 8
  %data_of_tensor.i81.i = getelementptr inbounds i8, ptr %106, i64 184
  %data.i.i = getelementptr inbounds i8, ptr %read.i.i, i64 16
  br label %for.body.i82.i

for.cond.i.i:                                     ; preds = %if.end31.i.i
  %inc.i86.i = add nuw nsw i64 %k.0116.i.i, 1
  %120 = load i64, ptr %operands5, align 8
  %cmp20.not.i.i = icmp slt i64 %inc.i86.i, %120
  br i1 %cmp20.not.i.i, label %for.body.i82.i, label %fill.exit.i

for.body.i82.i:                                   ; preds = %for.cond.i.i, %for.body.lr.ph.i79.i
  %k.0116.i.i = phi i64 [ 0, %for.body.lr.ph.i79.i ], [ %inc.i86.i, %for.cond.i.i ]
  %call21.i83.i = call ptr @PyTuple_GetItem(ptr noundef %2, i64 noundef %k.0116.i.i) #7
  %121 = shl nuw i64 1, %k.0116.i.i
  %122 = and i64 %121, %or.i
  %tobool23.not.i.i = icmp eq i64 %122, 0
  %cond27.i.i = select i1 %tobool23.not.i.i, ptr null, ptr %call21.i83.i
  %call28.i.i = call fastcc ptr @node_behind(ptr noundef nonnull %106, ptr noundef %cond27.i.i)
  %cmp29.i84.i = icmp eq ptr %call28.i.i, null
  br i1 %cmp29.i84.i, label %if.then29.i, label %if.end31.i.i

if.end31.i.i:                                     ; preds = %for.body.i82.i
  %call32.i.i = call i32 @PyTuple_SetItem(ptr noundef %call.i73.i, i64 noundef %k.0116.i.i, ptr noundef nonnull %call28.i.i) #7
  %123 = load i64, ptr %spec_of_tensor.i80.i, align 8
  %add.ptr33.i.i = getelementptr inbounds i8, ptr %call21.i83.i, i64 %123
  %124 = load ptr, ptr %add.ptr33.i.i, align 8
  call void @Py_IncRef(ptr noundef %124) #7
  %call35.i.i = call i32 @PyTuple_SetItem(ptr noundef %call4.i.i, i64 noundef %k.0116.i.i, ptr noundef %124) #7
  call void @llvm.lifetime.start.p0(i64 48, ptr nonnull %read.i.i) #7
  store ptr %call21.i83.i, ptr %read.i.i, align 8
  %125 = load i64, ptr %data_of_tensor.i81.i, align 8
  %add.ptr37.i.i = getelementptr inbounds i8, ptr %call21.i83.i, i64 %125
  %126 = load ptr, ptr %add.ptr37.i.i, align 8
  store ptr %126, ptr %saved.i.i, align 8
  %arrayidx.i.i = getelementptr inbounds %struct.slots, ptr %rest.i.i, i64 %k.0116.i.i
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(28) %data.i.i, i8 0, i64 28, i1 false)
  %127 = load i64, ptr %arrayidx.i.i, align 8
  %epoch.i.i = getelementptr inbounds i8, ptr %arrayidx.i.i, i64 8
  %128 = load i64, ptr %epoch.i.i, align 8
  %readers.i.i = getelementptr inbounds i8, ptr %arrayidx.i.i, i64 16
  %129 = load i64, ptr %readers.i.i, align 8
  %and41.i.i = and i64 %129, %or.i
  %cmp42.i.i = icmp ne i64 %and41.i.i, 0
  %conv.i85.i = zext i1 %cmp42.i.i to i32
  %call43.i.i = call fastcc i32 @save(ptr noundef nonnull %106, ptr noundef nonnull %call23.i, i64 noundef %127, i64 noundef %128, ptr noundef nonnull %read.i.i, i32 noundef %conv.i85.i)
  %cmp44.i.i = icmp slt i32 %call43.i.i, 0
  call void @llvm.lifetime.end.p0(i64 48, ptr nonnull %read.i.i) #7
  br i1 %cmp44.i.i, label %if.then29.i, label %for.cond.i.i

fill.exit.i:                                      ; preds = %for.cond.i.i, %if.end18.i.i
  %clock.i.i = getelementptr inbounds i8, ptr %106, i64 88
  %130 = load ptr, ptr %clock.i.i, align 8
  %call52.i.i = call ptr @PyObject_CallNoArgs(ptr noundef %130) #7
  %seq_of_node.i.i = getelementptr inbounds i8, ptr %106, i64 248
  %131 = load i64, ptr %seq_of_node.i.i, align 8
  %add.ptr53.i.i = getelementptr inbounds i8, ptr %call23.i, i64 %131
  store ptr %call52.i.i, ptr %add.ptr53.i.i, align 8
  %cmp54.i.i = icmp eq ptr %call52.i.i, null
  br i1 %cmp54.i.i, label %if.then29.i, label %if.else.i

if.then29.i:                                      ; preds = %if.end31.i.i, %for.body.i82.i, %fill.exit.i, %lor.lhs.false.i130, %if.then21.i
  call void @Py_DecRef(ptr noundef %call23.i) #7
  call void @Py_DecRef(ptr noundef nonnull %cond.i124) #7
  br label %if.end34.i

if.else.i:                                        ; preds = %fill.exit.i
  %node_of_tensor.i = getelementptr inbounds i8, ptr %63, i64 200
  %132 = load i64, ptr %node_of_tensor.i, align 8
  %add.ptr30.i = getelementptr inbounds i8, ptr %cond.i124, i64 %132
  %133 = load ptr, ptr %add.ptr30.i, align 8
  store ptr %call23.i, ptr %add.ptr30.i, align 8
  call void @Py_DecRef(ptr noundef %133) #7
  br label %if.end34.i

if.end34.i:                                       ; preds = %if.else.i, %if.then29.i, %land.lhs.true18.i, %for.cond.cleanup.i, %cond.end.i
  %result.1.i = phi ptr [ %cond.i124, %land.lhs.true18.i ], [ %cond.i124, %for.cond.cleanup.i ], [ null, %if.then29.i ], [ %cond.i124, %if.else.i ], [ %cond.i124, %cond.end.i ]
  call void @Py_DecRef(ptr noundef %retval.3.i.i) #7
  %134 = load ptr, ptr %out.addr.i, align 8
  call void @Py_DecRef(ptr noundef %134) #7
  br label %result_of.exit

result_of.exit:                                   ; preds = %if.then.i120, %if.end34.i
  %retval.1.i125 = phi ptr [ %result.1.i, %if.end34.i ], [ null, %if.then.i120 ]
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %out.addr.i)
  br label %cleanup58

cleanup58:                                        ; preds = %cleanup31, %compute.exit.thread, %cleanup31.thread144, %are_normal.exit.thread, %for.end, %compute.exit, %result_of.exit, %if.then16
  %retval.4 = phi ptr [ %20, %if.then16 ], [ %50, %cleanup31 ], [ null, %for.end ], [ %retval.1.i125, %result_of.exit ], [ null, %compute.exit ], [ null, %are_normal.exit.thread ], [ %49, %cleanup31.thread144 ], [ null, %compute.exit.thread ]
  ret ptr %retval.4
}

declare i64 @PyTuple_Size(ptr noundef) local_unnamed_addr #3

declare i64 @PyDict_Size(ptr noundef) local_unnamed_addr #3

declare ptr @PyTuple_GetItem(ptr noundef, i64 noundef) local_unnamed_addr #3

declare ptr @PyTuple_New(i64 noundef) local_unnamed_addr #3

declare i32 @PyTuple_SetItem(ptr noundef, i64 noundef, ptr noundef) local_unnamed_addr #3

declare i32 @PyContextVar_Get(ptr noundef, ptr noundef, ptr noundef) local_unnamed_addr #3

define internal fastcc range(i32 0, 2) i32 @is_plain(ptr nocapture noundef readonly %known, ptr nocapture noundef readonly %object) unnamed_addr #0 {
entry:
  %ob_type.i.i = getelementptr inbounds i8, ptr %object, i64 8
  %0 = load ptr, ptr %ob_type.i.i, align 8
  %1 = load ptr, ptr %known, align 8
  %cmp.not.i = icmp eq ptr %0, %1
  br i1 %cmp.not.i, label %if.end.i, label %land.end

if.end.i:                                         ; preds = %entry
  %extra_of_tensor.i = getelementptr inbounds i8, ptr %known, i64 216
  %2 = load i64, ptr %extra_of_tensor.i, align 8
  %add.ptr.i = getelementptr inbounds i8, ptr %object, i64 %2
  %3 = load ptr, ptr %add.ptr.i, align 8
  %none.i = getelementptr inbounds i8, ptr %known, i64 24
  %4 = load ptr, ptr %none.i, align 8
  %cmp1.i = icmp eq ptr %3, %4
  br i1 %cmp1.i, label %is_usual.exit, label %lor.lhs.false.i

lor.lhs.false.i:                                  ; preds = %if.end.i
  %ob_type.i.i.i = getelementptr inbounds i8, ptr %3, i64 8
  %5 = load ptr, ptr %ob_type.i.i.i, align 8
  %view.i.i = getelementptr inbounds i8, ptr %known, i64 16
  %6 = load ptr, ptr %view.i.i, align 8
  %cmp.not.i.i = icmp eq ptr %5, %6
  br i1 %cmp.not.i.i, label %lor.lhs.false.i.i, label %land.end

lor.lhs.false.i.i:                                ; preds = %lor.lhs.false.i
  %open_levels.i.i = getelementptr inbounds i8, ptr %known, i64 80
  %7 = load ptr, ptr %open_levels.i.i, align 8
  %call1.i.i = tail call i32 @PyObject_IsTrue(ptr noundef %7) #7
  %cmp2.not.i.i = icmp eq i32 %call1.i.i, 0
  br i1 %cmp2.not.i.i, label %lor.lhs.false3.i.i, label %land.end

lor.lhs.false3.i.i:                               ; preds = %lor.lhs.false.i.i
  %node_of_tensor.i.i = getelementptr inbounds i8, ptr %known, i64 200
  %8 = load i64, ptr %node_of_tensor.i.i, align 8
  %add.ptr.i.i = getelementptr inbounds i8, ptr %object, i64 %8
  %9 = load ptr, ptr %add.ptr.i.i, align 8
  %10 = load ptr, ptr %none.i, align 8
  %cmp4.i.i = icmp eq ptr %9, %10
  br i1 %cmp4.i.i, label %land.end, label %is_fresh.exit.i

is_fresh.exit.i:                                  ; preds = %lor.lhs.false3.i.i
  %counter_of_tensor.i.i = getelementptr inbounds i8, ptr %known, i64 208
  %11 = load i64, ptr %counter_of_tensor.i.i, align 8
  %add.ptr5.i.i = getelementptr inbounds i8, ptr %object, i64 %11
  %12 = load ptr, ptr %add.ptr5.i.i, align 8
  %version_of_view.i.i = getelementptr inbounds i8, ptr %known, i64 160
  %13 = load i64, ptr %version_of_view.i.i, align 8
  %add.ptr6.i.i = getelementptr inbounds i8, ptr %3, i64 %13
  %14 = load ptr, ptr %add.ptr6.i.i, align 8
  %value_of_counter.i.i = getelementptr inbounds i8, ptr %known, i64 152
  %15 = load i64, ptr %value_of_counter.i.i, align 8
  %add.ptr7.i.i = getelementptr inbounds i8, ptr %12, i64 %15
  %16 = load ptr, ptr %add.ptr7.i.i, align 8
  %call8.i.i = tail call i32 @PyObject_RichCompareBool(ptr noundef %14, ptr noundef %16, i32 noundef 2) #7
  %cmp9.i.not.i = icmp eq i32 %call8.i.i, 1
  br i1 %cmp9.i.not.i, label %is_usual.exit, label %land.end

is_usual.exit:                                    ; preds = %if.end.i, %is_fresh.exit.i
  %data_of_tensor.i = getelementptr inbounds i8, ptr %known, i64 184
  %17 = load i64, ptr %data_of_tensor.i, align 8
  %add.ptr3.i = getelementptr inbounds i8, ptr %object, i64 %17
  %18 = load ptr, ptr %add.ptr3.i, align 8
  %ob_type.i14.i = getelementptr inbounds i8, ptr %18, i64 8
  %19 = load ptr, ptr %ob_type.i14.i, align 8
  %20 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx.i = getelementptr inbounds i8, ptr %20, i64 16
  %21 = load ptr, ptr %arrayidx.i, align 8
  %cmp5.i.not = icmp eq ptr %19, %21
  br i1 %cmp5.i.not, label %land.rhs, label %land.end

land.rhs:                                         ; preds = %is_usual.exit
  %flags.i.i = getelementptr inbounds i8, ptr %18, i64 64
  %22 = load i32, ptr %flags.i.i, align 8
  %and.i = and i32 %22, 257
  %cmp.i = icmp eq i32 %and.i, 257
  %conv.i = zext i1 %cmp.i to i32
  br label %land.end

land.end:                                         ; preds = %lor.lhs.false.i, %lor.lhs.false.i.i, %lor.lhs.false3.i.i, %is_fresh.exit.i, %entry, %land.rhs, %is_usual.exit
  %land.ext = phi i32 [ 0, %is_usual.exit ], [ %conv.i, %land.rhs ], [ 0, %entry ], [ 0, %is_fresh.exit.i ], [ 0, %lor.lhs.false3.i.i ], [ 0, %lor.lhs.false.i.i ], [ 0, %lor.lhs.false.i ]
  ret i32 %land.ext
}

declare ptr @PyDict_GetItemWithError(ptr noundef, ptr noundef) local_unnamed_addr #3

declare double @PyFloat_AsDouble(ptr noundef) local_unnamed_addr #3

declare i32 @PyObject_Not(ptr noundef) local_unnamed_addr #3

declare ptr @PyLong_FromSsize_t(i64 noundef) local_unnamed_addr #3

declare ptr @PyObject_Vectorcall(ptr noundef, ptr noundef, i64 noundef, ptr noundef) local_unnamed_addr #3

define internal fastcc ptr @node_behind(ptr nocapture noundef readonly %known, ptr noundef %tensor) unnamed_addr #0 {
entry:
  %tensor.addr = alloca ptr, align 8
  store ptr %tensor, ptr %tensor.addr, align 8
  %cmp = icmp eq ptr %tensor, null
  br i1 %cmp, label %cond.true, label %cond.false

cond.true:                                        ; preds = %entry
  %none = getelementptr inbounds i8, ptr %known, i64 24
  br label %cond.end

cond.false:                                       ; preds = %entry
  %node_of_tensor = getelementptr inbounds i8, ptr %known, i64 200
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
  tail call void @Py_IncRef(ptr noundef nonnull %cond) #7
  br label %cleanup15

if.end:                                           ; preds = %cond.end
  %reference_of_leaf = getelementptr inbounds i8, ptr %known, i64 136
  %3 = load i64, ptr %reference_of_leaf, align 8
  %add.ptr3 = getelementptr inbounds i8, ptr %cond, i64 %3
  %4 = load ptr, ptr %add.ptr3, align 8
  %none4 = getelementptr inbounds i8, ptr %known, i64 24
  %5 = load ptr, ptr %none4, align 8
  %cmp5.not = icmp eq ptr %4, %5
  br i1 %cmp5.not, label %if.end12, label %if.then6

if.then6:                                         ; preds = %if.end
  tail call void @Py_IncRef(ptr noundef %4) #7
  %call7 = tail call ptr @PyObject_CallNoArgs(ptr noundef %4) #7
  tail call void @Py_DecRef(ptr noundef %4) #7
  %6 = load ptr, ptr %none4, align 8
  %cmp9.not = icmp eq ptr %call7, %6
  br i1 %cmp9.not, label %if.end11, label %cleanup15

if.end11:                                         ; preds = %if.then6
  tail call void @Py_DecRef(ptr noundef %call7) #7
  br label %if.end12

if.end12:                                         ; preds = %if.end11, %if.end
  %accumulator_of = getelementptr inbounds i8, ptr %known, i64 96
  %7 = load ptr, ptr %accumulator_of, align 8
  %call13 = call ptr @PyObject_Vectorcall(ptr noundef %7, ptr noundef nonnull %tensor.addr, i64 noundef 1, ptr noundef null) #7
  br label %cleanup15

cleanup15:                                        ; preds = %if.end12, %if.then6, %if.then
  %retval.2 = phi ptr [ %cond, %if.then ], [ %call13, %if.end12 ], [ %call7, %if.then6 ]
  ret ptr %retval.2
}

define internal fastcc ptr @new_tensor(ptr nocapture noundef readonly %known, ptr noundef %out, ptr noundef %spec) unnamed_addr #0 {
entry:
  %0 = load ptr, ptr %known, align 8
  %call = tail call ptr @PyType_GenericAlloc(ptr noundef %0, i64 noundef 0) #7
  %cmp = icmp eq ptr %call, null
  br i1 %cmp, label %cleanup, label %if.end

if.end:                                           ; preds = %entry
  tail call void @Py_IncRef(ptr noundef %out) #7
  %data_of_tensor = getelementptr inbounds i8, ptr %known, i64 184
  %1 = load i64, ptr %data_of_tensor, align 8
  %add.ptr = getelementptr inbounds i8, ptr %call, i64 %1
  store ptr %out, ptr %add.ptr, align 8
  tail call void @Py_IncRef(ptr noundef %spec) #7
  %spec_of_tensor = getelementptr inbounds i8, ptr %known, i64 192
  %2 = load i64, ptr %spec_of_tensor, align 8
  %add.ptr4 = getelementptr inbounds i8, ptr %call, i64 %2
  store ptr %spec, ptr %add.ptr4, align 8
  %none = getelementptr inbounds i8, ptr %known, i64 24
  %3 = load ptr, ptr %none, align 8
  tail call void @Py_IncRef(ptr noundef %3) #7
  %node_of_tensor = getelementptr inbounds i8, ptr %known, i64 200
  %4 = load i64, ptr %node_of_tensor, align 8
  %add.ptr6 = getelementptr inbounds i8, ptr %call, i64 %4
  store ptr %3, ptr %add.ptr6, align 8
  %5 = load ptr, ptr %none, align 8
  tail call void @Py_IncRef(ptr noundef %5) #7
  %counter_of_tensor = getelementptr inbounds i8, ptr %known, i64 208
  %6 = load i64, ptr %counter_of_tensor, align 8
  %add.ptr9 = getelementptr inbounds i8, ptr %call, i64 %6
  store ptr %5, ptr %add.ptr9, align 8
  %7 = load ptr, ptr %none, align 8
  tail call void @Py_IncRef(ptr noundef %7) #7
  %extra_of_tensor = getelementptr inbounds i8, ptr %known, i64 216
  %8 = load i64, ptr %extra_of_tensor, align 8
  %add.ptr12 = getelementptr inbounds i8, ptr %call, i64 %8
  store ptr %7, ptr %add.ptr12, align 8
  %9 = load ptr, ptr %none, align 8
  tail call void @Py_IncRef(ptr noundef %9) #7
  %meta_of_tensor = getelementptr inbounds i8, ptr %known, i64 224
  %10 = load i64, ptr %meta_of_tensor, align 8
  %add.ptr15 = getelementptr inbounds i8, ptr %call, i64 %10
  store ptr %9, ptr %add.ptr15, align 8
  br label %cleanup

cleanup:                                          ; preds = %entry, %if.end
  ret ptr %call
}

declare ptr @PyObject_CallNoArgs(ptr noundef) local_unnamed_addr #3

declare ptr @PyType_GenericAlloc(ptr noundef, i64 noundef) local_unnamed_addr #3

define internal fastcc noundef i32 @save(ptr nocapture noundef readonly %known, ptr nocapture noundef writeonly %node, i64 noundef %data, i64 noundef %epoch, ptr nocapture noundef readonly %read, i32 noundef %wanted) unnamed_addr #0 {
entry:
  %given = alloca %struct.nodes, align 8
  %cmp = icmp eq i64 %data, 0
  br i1 %cmp, label %return, label %if.end

if.end:                                           ; preds = %entry
  %unwritten = getelementptr inbounds i8, ptr %known, i64 40
  %0 = load ptr, ptr %unwritten, align 8
  %tobool.not = icmp eq i32 %wanted, 0
  br i1 %tobool.not, label %cond.false26, label %land.lhs.true

land.lhs.true:                                    ; preds = %if.end
  %1 = load ptr, ptr %read, align 8
  %cmp1.not = icmp eq ptr %1, null
  br i1 %cmp1.not, label %cond.true24, label %if.then2

if.then2:                                         ; preds = %land.lhs.true
  %counter_of_tensor = getelementptr inbounds i8, ptr %known, i64 208
  %2 = load i64, ptr %counter_of_tensor, align 8
  %add.ptr = getelementptr inbounds i8, ptr %1, i64 %2
  %3 = load ptr, ptr %add.ptr, align 8
  %none = getelementptr inbounds i8, ptr %known, i64 24
  %4 = load ptr, ptr %none, align 8
  %cmp4 = icmp eq ptr %3, %4
  br i1 %cmp4, label %cond.true24, label %cond.end

cond.end:                                         ; preds = %if.then2
  %epoch_of_counter = getelementptr inbounds i8, ptr %known, i64 144
  %5 = load i64, ptr %epoch_of_counter, align 8
  %add.ptr6 = getelementptr inbounds i8, ptr %3, i64 %5
  %6 = load ptr, ptr %add.ptr6, align 8
  %cmp8.not = icmp eq ptr %6, %4
  br i1 %cmp8.not, label %cond.true24, label %if.then9

if.then9:                                         ; preds = %cond.end
  call void @llvm.lifetime.start.p0(i64 16, ptr nonnull %given) #7
  store ptr %6, ptr %given, align 8
  %arrayinit.element = getelementptr inbounds i8, ptr %given, i64 8
  %saved = getelementptr inbounds i8, ptr %read, i64 8
  %7 = load ptr, ptr %saved, align 8
  store ptr %7, ptr %arrayinit.element, align 8
  %hold = getelementptr inbounds i8, ptr %known, i64 56
  %8 = load ptr, ptr %hold, align 8
  %call = call ptr @PyObject_VectorcallMethod(ptr noundef %8, ptr noundef nonnull %given, i64 noundef 2, ptr noundef null) #7
  %cmp11 = icmp eq ptr %call, null
  br i1 %cmp11, label %cleanup19, label %if.end13

if.end13:                                         ; preds = %if.then9
  %add.ptr14 = getelementptr inbounds i8, ptr %node, i64 %epoch
  store ptr %call, ptr %add.ptr14, align 8
  %9 = load ptr, ptr %saved, align 8
  call void @Py_IncRef(ptr noundef %9) #7
  %add.ptr17 = getelementptr inbounds i8, ptr %node, i64 %data
  store ptr %9, ptr %add.ptr17, align 8
  br label %cleanup19

cleanup19:                                        ; preds = %if.end13, %if.then9
  %retval.0 = phi i32 [ 0, %if.end13 ], [ -1, %if.then9 ]
  call void @llvm.lifetime.end.p0(i64 16, ptr nonnull %given) #7
  br label %return

cond.true24:                                      ; preds = %if.then2, %cond.end, %land.lhs.true
  %since.1 = phi ptr [ %0, %land.lhs.true ], [ %6, %cond.end ], [ %4, %if.then2 ]
  tail call void @Py_IncRef(ptr noundef %since.1) #7
  %add.ptr22 = getelementptr inbounds i8, ptr %node, i64 %epoch
  store ptr %since.1, ptr %add.ptr22, align 8
  %saved25 = getelementptr inbounds i8, ptr %read, i64 8
  br label %cond.end28

cond.false26:                                     ; preds = %if.end
  tail call void @Py_IncRef(ptr noundef %0) #7
  %add.ptr22.c = getelementptr inbounds i8, ptr %node, i64 %epoch
  store ptr %0, ptr %add.ptr22.c, align 8
  %none27 = getelementptr inbounds i8, ptr %known, i64 24
  br label %cond.end28

cond.end28:                                       ; preds = %cond.false26, %cond.true24
  %cond29.in = phi ptr [ %saved25, %cond.true24 ], [ %none27, %cond.false26 ]
  %cond29 = load ptr, ptr %cond29.in, align 8
  tail call void @Py_IncRef(ptr noundef %cond29) #7
  %add.ptr31 = getelementptr inbounds i8, ptr %node, i64 %data
  store ptr %cond29, ptr %add.ptr31, align 8
  br label %return

return:                                           ; preds = %cleanup19, %cond.end28, %entry
  %retval.3 = phi i32 [ 0, %entry ], [ 0, %cond.end28 ], [ %retval.0, %cleanup19 ]
  ret i32 %retval.3
}

declare ptr @PyObject_VectorcallMethod(ptr noundef, ptr noundef, i64 noundef, ptr noundef) local_unnamed_addr #3

declare i32 @PyObject_IsTrue(ptr noundef) local_unnamed_addr #3

declare i32 @PyObject_RichCompareBool(ptr noundef, ptr noundef, i32 noundef) local_unnamed_addr #3

declare ptr @PyObject_Call(ptr noundef, ptr noundef, ptr noundef) local_unnamed_addr #3

declare ptr @PyObject_CallObject(ptr noundef, ptr noundef) local_unnamed_addr #3

declare ptr @PyObject_GetAttr(ptr noundef, ptr noundef) local_unnamed_addr #3

declare i32 @bcmp(ptr nocapture, ptr nocapture, i64) local_unnamed_addr #5

declare i32 @llvm.smax.i32(i32, i32) #6

attributes #0 = { nounwind }
attributes #1 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #3 = { nounwind }
attributes #4 = { nounwind }
attributes #5 = { nofree nounwind willreturn memory(argmem: read) }
attributes #6 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #7 = { nounwind }
