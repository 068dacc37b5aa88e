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
  br i1 %cmp, label %cond.true, label %if.then12

cond.true:                                        ; preds = %entry
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %modes.i) #8
  store ptr null, ptr %modes.i, align 8
  %modes1.i = getelementptr inbounds i8, ptr %1, i64 64
  %3 = load ptr, ptr %modes1.i, align 8
  %call.i = call i32 @PyContextVar_Get(ptr noundef %3, ptr noundef null, ptr noundef nonnull %modes.i) #8
  %cmp.i = icmp slt i32 %call.i, 0
  br i1 %cmp.i, label %cond.end.thread194, label %cond.end

cond.end.thread194:                               ; preds = %cond.true
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %modes.i) #8
  br label %cleanup78

cond.end:                                         ; preds = %cond.true
  %4 = load ptr, ptr %modes.i, align 8
  call void @Py_DecRef(ptr noundef %4) #8
  %5 = load ptr, ptr %modes.i, align 8
  %switch_.i = getelementptr inbounds i8, ptr %1, i64 72
  %6 = load ptr, ptr %switch_.i, align 8
  %normal_of_switch.i = getelementptr inbounds i8, ptr %1, i64 128
  %7 = load i64, ptr %normal_of_switch.i, align 8
  %add.ptr.i = getelementptr inbounds i8, ptr %6, i64 %7
  %8 = load ptr, ptr %add.ptr.i, align 8
  %cmp2.i.not = icmp eq ptr %5, %8
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %modes.i) #8
  br i1 %cmp2.i.not, label %cond.true4, label %if.then12

cond.true4:                                       ; preds = %cond.end
  %9 = load ptr, ptr %0, align 8
  %10 = load ptr, ptr %args, align 8
  %call.i113 = call fastcc i32 @is_plain(ptr noundef %9, ptr noundef %10)
  %tobool.not.i = icmp eq i32 %call.i113, 0
  %cond.i = xor i32 %call.i113, 1
  br i1 %tobool.not.i, label %land.lhs.true.i, label %if.end.i114

land.lhs.true.i:                                  ; preds = %cond.true4
  %11 = load i64, ptr %operands, align 8
  %cmp2.i116 = icmp eq i64 %11, 1
  br i1 %cmp2.i116, label %if.then12, label %lor.lhs.false.i

lor.lhs.false.i:                                  ; preds = %land.lhs.true.i
  %arrayidx3.i = getelementptr inbounds i8, ptr %args, i64 8
  %12 = load ptr, ptr %arrayidx3.i, align 8
  %call4.i = call fastcc i32 @is_plain(ptr noundef %9, ptr noundef %12)
  %tobool5.not.i = icmp eq i32 %call4.i, 0
  br i1 %tobool5.not.i, label %if.then12, label %if.end.i114

if.end.i114:                                      ; preds = %lor.lhs.false.i, %cond.true4
  %idxprom.i = zext nneg i32 %cond.i to i64
  %arrayidx6.i = getelementptr inbounds ptr, ptr %args, i64 %idxprom.i
  %13 = load ptr, ptr %arrayidx6.i, align 8
  %spec_of_tensor.i = getelementptr inbounds i8, ptr %9, i64 192
  %14 = load i64, ptr %spec_of_tensor.i, align 8
  %add.ptr.i115 = getelementptr inbounds i8, ptr %13, i64 %14
  %15 = load ptr, ptr %add.ptr.i115, align 8
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
  br i1 %or.cond.i, label %land.lhs.true3.i.i, label %if.then12

land.lhs.true3.i.i:                               ; preds = %if.end.i114
  %byteorder.i.i = getelementptr inbounds i8, ptr %18, i64 26
  %24 = load i8, ptr %byteorder.i.i, align 2
  %cmp5.not.i.i = icmp eq i8 %24, 62
  br i1 %cmp5.not.i.i, label %if.then12, label %land.rhs.i.i

land.rhs.i.i:                                     ; preds = %land.lhs.true3.i.i
  %nd.i.i.i.i = getelementptr inbounds i8, ptr %17, i64 24
  %25 = load i32, ptr %nd.i.i.i.i, align 8
  %cmp6.i.i.i = icmp sgt i32 %25, 0
  br i1 %cmp6.i.i.i, label %for.body.lr.ph.i.i.i, label %is_for_loops.exit.i

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

is_for_loops.exit.i:                              ; preds = %for.body.i.i.i, %land.rhs.i.i
  %size.0.lcssa.i.i.i = phi i64 [ 1, %land.rhs.i.i ], [ %mul.i.i.i, %for.body.i.i.i ]
  %most.i.i = getelementptr inbounds i8, ptr %9, i64 120
  %28 = load i64, ptr %most.i.i, align 8
  %cmp8.i.not.i = icmp sgt i64 %size.0.lcssa.i.i.i, %28
  br i1 %cmp8.i.not.i, label %if.then12, label %if.end12.i

if.end12.i:                                       ; preds = %is_for_loops.exit.i
  %arrayidx14.i = getelementptr inbounds %struct.operand, ptr %given, i64 %idxprom.i
  store ptr %13, ptr %arrayidx14.i, align 8
  %saved.i.i = getelementptr inbounds i8, ptr %arrayidx14.i, i64 8
  store ptr %17, ptr %saved.i.i, align 8
  %data.i.i.i = getelementptr inbounds i8, ptr %17, i64 16
  %29 = load ptr, ptr %data.i.i.i, align 8
  %add.i.i = sub nuw nsw i32 2, %call.i113
  %idxprom.i.i = zext nneg i32 %add.i.i to i64
  %arrayidx.i.i = getelementptr inbounds [10 x ptr], ptr %values, i64 0, i64 %idxprom.i.i
  store ptr %29, ptr %arrayidx.i.i, align 8
  %30 = load i64, ptr %operands, align 8
  %cmp16.i = icmp eq i64 %30, 2
  br i1 %cmp16.i, label %if.then17.i, label %lor.lhs.false

if.then17.i:                                      ; preds = %if.end12.i
  %idxprom18.i = zext nneg i32 %call.i113 to i64
  %arrayidx19.i = getelementptr inbounds ptr, ptr %args, i64 %idxprom18.i
  %31 = load ptr, ptr %arrayidx19.i, align 8
  br i1 %tobool.not.i, label %if.else.i, label %land.lhs.true21.i

land.lhs.true21.i:                                ; preds = %if.then17.i
  %call22.i = call fastcc i32 @is_plain(ptr noundef nonnull %9, ptr noundef %31)
  %tobool23.not.i = icmp eq i32 %call22.i, 0
  br i1 %tobool23.not.i, label %if.else.i, label %if.then24.i

if.then24.i:                                      ; preds = %land.lhs.true21.i
  %32 = load i64, ptr %spec_of_tensor.i, align 8
  %add.ptr26.i = getelementptr inbounds i8, ptr %31, i64 %32
  %33 = load ptr, ptr %add.ptr26.i, align 8
  %34 = load i64, ptr %data_of_tensor.i, align 8
  %add.ptr28.i = getelementptr inbounds i8, ptr %31, i64 %34
  %35 = load ptr, ptr %add.ptr28.i, align 8
  %cmp29.not.i = icmp eq ptr %33, %15
  br i1 %cmp29.not.i, label %cond.end7.thread210, label %land.lhs.true30.i

cond.end7.thread210:                              ; preds = %if.then24.i
  %arrayidx39.i211 = getelementptr inbounds i8, ptr %given, i64 16
  store ptr %31, ptr %arrayidx39.i211, align 8
  %saved.i137.i212 = getelementptr inbounds i8, ptr %given, i64 24
  store ptr %35, ptr %saved.i137.i212, align 8
  %data.i.i138.i213 = getelementptr inbounds i8, ptr %35, i64 16
  %36 = load ptr, ptr %data.i.i138.i213, align 8
  %arrayidx.i139.i214 = getelementptr inbounds i8, ptr %values, i64 16
  store ptr %36, ptr %arrayidx.i139.i214, align 8
  br label %lor.lhs.false

land.lhs.true30.i:                                ; preds = %if.then24.i
  %descr.i.i104.i = getelementptr inbounds i8, ptr %35, i64 56
  %37 = load ptr, ptr %descr.i.i104.i, align 8
  %38 = load i64, ptr %is_plain_of_spec.i.i, align 8
  %add.ptr.i106.i = getelementptr inbounds i8, ptr %33, i64 %38
  %39 = load ptr, ptr %add.ptr.i106.i, align 8
  %40 = load ptr, ptr %true_.i.i, align 8
  %cmp.i108.i = icmp eq ptr %39, %40
  br i1 %cmp.i108.i, label %land.lhs.true.i110.i, label %if.then12

land.lhs.true.i110.i:                             ; preds = %land.lhs.true30.i
  %type_num.i111.i = getelementptr inbounds i8, ptr %37, i64 28
  %41 = load i32, ptr %type_num.i111.i, align 4
  %42 = add i32 %41, -11
  %or.cond.i112.i = icmp ult i32 %42, 2
  br i1 %or.cond.i112.i, label %land.lhs.true3.i113.i, label %if.then12

land.lhs.true3.i113.i:                            ; preds = %land.lhs.true.i110.i
  %byteorder.i114.i = getelementptr inbounds i8, ptr %37, i64 26
  %43 = load i8, ptr %byteorder.i114.i, align 2
  %cmp5.not.i115.i = icmp eq i8 %43, 62
  br i1 %cmp5.not.i115.i, label %if.then12, label %land.rhs.i116.i

land.rhs.i116.i:                                  ; preds = %land.lhs.true3.i113.i
  %nd.i.i.i117.i = getelementptr inbounds i8, ptr %35, i64 24
  %44 = load i32, ptr %nd.i.i.i117.i, align 8
  %cmp6.i.i118.i = icmp sgt i32 %44, 0
  br i1 %cmp6.i.i118.i, label %for.body.lr.ph.i.i123.i, label %is_for_loops.exit133.i

for.body.lr.ph.i.i123.i:                          ; preds = %land.rhs.i116.i
  %dimensions.i.i.i124.i = getelementptr inbounds i8, ptr %35, i64 32
  %45 = load ptr, ptr %dimensions.i.i.i124.i, align 8
  %wide.trip.count.i.i125.i = zext nneg i32 %44 to i64
  br label %for.body.i.i126.i

for.body.i.i126.i:                                ; preds = %for.body.i.i126.i, %for.body.lr.ph.i.i123.i
  %indvars.iv.i.i127.i = phi i64 [ 0, %for.body.lr.ph.i.i123.i ], [ %indvars.iv.next.i.i131.i, %for.body.i.i126.i ]
  %size.07.i.i128.i = phi i64 [ 1, %for.body.lr.ph.i.i123.i ], [ %mul.i.i130.i, %for.body.i.i126.i ]
  %arrayidx.i.i129.i = getelementptr inbounds i64, ptr %45, i64 %indvars.iv.i.i127.i
  %46 = load i64, ptr %arrayidx.i.i129.i, align 8
  %mul.i.i130.i = mul nsw i64 %46, %size.07.i.i128.i
  %indvars.iv.next.i.i131.i = add nuw nsw i64 %indvars.iv.i.i127.i, 1
  %exitcond.not.i.i132.i = icmp eq i64 %indvars.iv.next.i.i131.i, %wide.trip.count.i.i125.i
  br i1 %exitcond.not.i.i132.i, label %is_for_loops.exit133.i, label %for.body.i.i126.i

is_for_loops.exit133.i:                           ; preds = %for.body.i.i126.i, %land.rhs.i116.i
  %size.0.lcssa.i.i120.i = phi i64 [ 1, %land.rhs.i116.i ], [ %mul.i.i130.i, %for.body.i.i126.i ]
  %47 = load i64, ptr %most.i.i, align 8
  %cmp8.i122.not.i = icmp sle i64 %size.0.lcssa.i.i120.i, %47
  %cmp36.not.i = icmp eq i32 %41, %19
  %or.cond153.i = select i1 %cmp8.i122.not.i, i1 %cmp36.not.i, i1 false
  br i1 %or.cond153.i, label %cond.end7, label %if.then12

if.else.i:                                        ; preds = %land.lhs.true21.i, %if.then17.i
  %ob_type.i.i.i.i = getelementptr inbounds i8, ptr %31, i64 8
  %48 = load ptr, ptr %ob_type.i.i.i.i, align 8
  %cmp.i.not.i.i = icmp eq ptr %48, @PyFloat_Type
  %cmp.i73.not.i.i = icmp eq ptr %48, @PyLong_Type
  %or.cond.i140.i = or i1 %cmp.i.not.i.i, %cmp.i73.not.i.i
  br i1 %or.cond.i140.i, label %if.end.i.i, label %if.then12

if.end.i.i:                                       ; preds = %if.else.i
  %numbers_of_spec.i.i = getelementptr inbounds i8, ptr %9, i64 176
  %49 = load i64, ptr %numbers_of_spec.i.i, align 8
  %add.ptr.i141.i = getelementptr inbounds i8, ptr %15, i64 %49
  %50 = load ptr, ptr %add.ptr.i141.i, align 8
  %call3.i.i = call ptr @PyDict_GetItemWithError(ptr noundef %50, ptr noundef nonnull %31) #8
  %cmp.not.i.i = icmp eq ptr %call3.i.i, null
  br i1 %cmp.not.i.i, label %if.end11.i.i, label %if.then4.i.i

if.then4.i.i:                                     ; preds = %if.end.i.i
  %ob_type.i.i.i = getelementptr inbounds i8, ptr %call3.i.i, i64 8
  %51 = load ptr, ptr %ob_type.i.i.i, align 8
  %52 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx.i142.i = getelementptr inbounds i8, ptr %52, i64 16
  %53 = load ptr, ptr %arrayidx.i142.i, align 8
  %cmp6.not.i.i = icmp eq ptr %51, %53
  br i1 %cmp6.not.i.i, label %if.end8.i.i, label %if.then12

if.end8.i.i:                                      ; preds = %if.then4.i.i
  %data.i.i143.i = getelementptr inbounds i8, ptr %call3.i.i, i64 16
  %54 = load ptr, ptr %data.i.i143.i, align 8
  br label %read_number.exit.i

if.end11.i.i:                                     ; preds = %if.end.i.i
  %call12.i.i = call ptr @PyErr_Occurred() #8
  %tobool13.not.i.i = icmp eq ptr %call12.i.i, null
  br i1 %tobool13.not.i.i, label %if.end15.i.i, label %if.then12

if.end15.i.i:                                     ; preds = %if.end11.i.i
  %wide16.i.i = getelementptr inbounds i8, ptr %values, i64 384
  %arrayidx18.i.i = getelementptr inbounds [2 x double], ptr %wide16.i.i, i64 0, i64 %idxprom18.i
  %55 = load ptr, ptr %ob_type.i.i.i.i, align 8
  %cmp.i76.not.i.i = icmp eq ptr %55, @PyFloat_Type
  br i1 %cmp.i76.not.i.i, label %cond.true.i.i, label %cond.end.i.i

cond.true.i.i:                                    ; preds = %if.end15.i.i
  %call21.i.i = call double @PyFloat_AsDouble(ptr noundef nonnull %31) #8
  br label %cond.end.i.i

cond.end.i.i:                                     ; preds = %cond.true.i.i, %if.end15.i.i
  %cond.i.i = phi double [ %call21.i.i, %cond.true.i.i ], [ 1.000000e+00, %if.end15.i.i ]
  store double %cond.i.i, ptr %arrayidx18.i.i, align 8
  %56 = load ptr, ptr %ob_type.i.i.i.i, align 8
  %cmp.i79.not.i.i = icmp eq ptr %56, @PyLong_Type
  br i1 %cmp.i79.not.i.i, label %land.lhs.true24.i.i, label %if.end28.i.i

land.lhs.true24.i.i:                              ; preds = %cond.end.i.i
  %call25.i.i = call i32 @PyObject_Not(ptr noundef nonnull %31) #8
  %tobool26.not.i.i = icmp eq i32 %call25.i.i, 0
  br i1 %tobool26.not.i.i, label %if.end28thread-pre-split.i.i, label %if.end28.thread.i.i

if.end28.thread.i.i:                              ; preds = %land.lhs.true24.i.i
  store double 0.000000e+00, ptr %arrayidx18.i.i, align 8
  br label %if.end31.i.i

if.end28thread-pre-split.i.i:                     ; preds = %land.lhs.true24.i.i
  %.pr.i.i = load double, ptr %arrayidx18.i.i, align 8
  br label %if.end28.i.i

if.end28.i.i:                                     ; preds = %if.end28thread-pre-split.i.i, %cond.end.i.i
  %57 = phi double [ %.pr.i.i, %if.end28thread-pre-split.i.i ], [ %cond.i.i, %cond.end.i.i ]
  %cmp29.i.i = fcmp une double %57, 0.000000e+00
  br i1 %cmp29.i.i, label %if.then12, label %if.end31.i.i

if.end31.i.i:                                     ; preds = %if.end28.i.i, %if.end28.thread.i.i
  %58 = phi double [ 0.000000e+00, %if.end28.thread.i.i ], [ %57, %if.end28.i.i ]
  %conv.i.i = fptrunc double %58 to float
  %narrow.i.i = getelementptr inbounds i8, ptr %values, i64 400
  %arrayidx33.i.i = getelementptr inbounds [2 x float], ptr %narrow.i.i, i64 0, i64 %idxprom18.i
  store float %conv.i.i, ptr %arrayidx33.i.i, align 4
  %cmp34.i.i = icmp eq i32 %19, 12
  %cond42.i.i = select i1 %cmp34.i.i, ptr %arrayidx18.i.i, ptr %arrayidx33.i.i
  br label %read_number.exit.i

read_number.exit.i:                               ; preds = %if.end31.i.i, %if.end8.i.i
  %.sink.i.i = phi ptr [ %54, %if.end8.i.i ], [ %cond42.i.i, %if.end31.i.i ]
  %call3.sink.i.i = phi ptr [ %call3.i.i, %if.end8.i.i ], [ %31, %if.end31.i.i ]
  %add.i144.i = add nuw nsw i32 %call.i113, 1
  %idxprom.i145.i = zext nneg i32 %add.i144.i to i64
  %arrayidx10.i.i = getelementptr inbounds [10 x ptr], ptr %values, i64 0, i64 %idxprom.i145.i
  store ptr %.sink.i.i, ptr %arrayidx10.i.i, align 8
  %saved.i146.i = getelementptr inbounds %struct.operand, ptr %given, i64 %idxprom18.i, i32 1
  store ptr %call3.sink.i.i, ptr %saved.i146.i, align 8
  br label %lor.lhs.false

cond.end7:                                        ; preds = %is_for_loops.exit133.i
  %arrayidx39.i = getelementptr inbounds i8, ptr %given, i64 16
  store ptr %31, ptr %arrayidx39.i, align 8
  %saved.i137.i = getelementptr inbounds i8, ptr %given, i64 24
  store ptr %35, ptr %saved.i137.i, align 8
  %data.i.i138.i = getelementptr inbounds i8, ptr %35, i64 16
  %59 = load ptr, ptr %data.i.i138.i, align 8
  %arrayidx.i139.i = getelementptr inbounds i8, ptr %values, i64 16
  store ptr %59, ptr %arrayidx.i139.i, align 8
  %cmp9 = icmp eq ptr %17, null
  br i1 %cmp9, label %if.then12, label %lor.lhs.false

lor.lhs.false:                                    ; preds = %read_number.exit.i, %if.end12.i, %cond.end7.thread210, %cond.end7
  %saved.i = getelementptr inbounds i8, ptr %given, i64 8
  %60 = load ptr, ptr %saved.i, align 8
  %arrayidx1.i = getelementptr inbounds i8, ptr %given, i64 16
  %saved2.i = getelementptr inbounds i8, ptr %given, i64 24
  %61 = load ptr, ptr %saved2.i, align 8
  %62 = load ptr, ptr %descr.i.i, align 8
  %type_num.i118 = getelementptr inbounds i8, ptr %62, i64 28
  %63 = load i32, ptr %type_num.i118, align 4
  %cmp.i119 = icmp eq i32 %63, 12
  %cond.i120 = select i1 %cmp.i119, i64 8, i64 4
  %64 = load ptr, ptr %given, align 8
  %cmp4.i = icmp ne ptr %64, null
  %65 = load ptr, ptr %arrayidx1.i, align 8
  %cmp8.i = icmp ne ptr %65, null
  %or.cond.i121 = select i1 %cmp4.i, i1 %cmp8.i, i1 false
  br i1 %or.cond.i121, label %land.rhs.i, label %land.lhs.true20.i

land.rhs.i:                                       ; preds = %lor.lhs.false
  %spec_of_tensor.i131 = getelementptr inbounds i8, ptr %1, i64 192
  %66 = load i64, ptr %spec_of_tensor.i131, align 8
  %add.ptr.i132 = getelementptr inbounds i8, ptr %64, i64 %66
  %67 = load ptr, ptr %add.ptr.i132, align 8
  %add.ptr16.i = getelementptr inbounds i8, ptr %65, i64 %66
  %68 = load ptr, ptr %add.ptr16.i, align 8
  %cmp17.i.not = icmp eq ptr %67, %68
  br i1 %cmp17.i.not, label %lor.lhs.false.i129, label %cond.true44.sink.split.i

land.lhs.true20.i:                                ; preds = %lor.lhs.false
  br i1 %cmp4.i, label %lor.lhs.false.i129, label %land.lhs.true24.i

lor.lhs.false.i129:                               ; preds = %land.lhs.true20.i, %land.rhs.i
  %flags.i.i.i = getelementptr inbounds i8, ptr %60, i64 64
  %69 = load i32, ptr %flags.i.i.i, align 8
  %and.i.i = and i32 %69, 1
  %tobool23.not.i130 = icmp eq i32 %and.i.i, 0
  br i1 %tobool23.not.i130, label %cond.end41.i, label %land.lhs.true24.i

land.lhs.true24.i:                                ; preds = %lor.lhs.false.i129, %land.lhs.true20.i
  br i1 %cmp8.i, label %lor.lhs.false26.i, label %if.then.i

lor.lhs.false26.i:                                ; preds = %land.lhs.true24.i
  %flags.i.i164.i = getelementptr inbounds i8, ptr %61, i64 64
  %70 = load i32, ptr %flags.i.i164.i, align 8
  %and.i165.i = and i32 %70, 1
  %tobool28.not.i = icmp eq i32 %and.i165.i, 0
  br i1 %tobool28.not.i, label %if.end.i124, label %if.then.i

if.then.i:                                        ; preds = %lor.lhs.false26.i, %land.lhs.true24.i
  %71 = load i32, ptr %nd.i.i.i.i, align 8
  %cmp6.i.i = icmp sgt i32 %71, 0
  br i1 %cmp6.i.i, label %for.body.lr.ph.i.i, label %size_of.exit.thread.i

size_of.exit.thread.i:                            ; preds = %if.then.i
  %ndim.i216.i = getelementptr inbounds i8, ptr %values, i64 80
  store i32 1, ptr %ndim.i216.i, align 8
  %lengths.i217.i = getelementptr inbounds i8, ptr %values, i64 96
  store i64 1, ptr %lengths.i217.i, align 8
  br label %74

for.body.lr.ph.i.i:                               ; preds = %if.then.i
  %dimensions.i.i.i = getelementptr inbounds i8, ptr %17, i64 32
  %72 = load ptr, ptr %dimensions.i.i.i, align 8
  %wide.trip.count.i.i = zext nneg i32 %71 to i64
  br label %for.body.i.i

for.body.i.i:                                     ; preds = %for.body.i.i, %for.body.lr.ph.i.i
  %indvars.iv.i.i = phi i64 [ 0, %for.body.lr.ph.i.i ], [ %indvars.iv.next.i.i, %for.body.i.i ]
  %size.07.i.i = phi i64 [ 1, %for.body.lr.ph.i.i ], [ %mul.i.i, %for.body.i.i ]
  %arrayidx.i.i122 = getelementptr inbounds i64, ptr %72, i64 %indvars.iv.i.i
  %73 = load i64, ptr %arrayidx.i.i122, align 8
  %.fr.i = freeze i64 %73
  %mul.i.i = mul i64 %.fr.i, %size.07.i.i
  %indvars.iv.next.i.i = add nuw nsw i64 %indvars.iv.i.i, 1
  %exitcond.not.i.i = icmp eq i64 %indvars.iv.next.i.i, %wide.trip.count.i.i
  br i1 %exitcond.not.i.i, label %size_of.exit.i, label %for.body.i.i

size_of.exit.i:                                   ; preds = %for.body.i.i
  %ndim.i.i = getelementptr inbounds i8, ptr %values, i64 80
  store i32 1, ptr %ndim.i.i, align 8
  %lengths.i.i = getelementptr inbounds i8, ptr %values, i64 96
  store i64 %mul.i.i, ptr %lengths.i.i, align 8
  %cmp.i.i123 = icmp eq i64 %mul.i.i, 1
  br i1 %cmp.i.i123, label %74, label %cond.end.i

74:                                               ; preds = %size_of.exit.i, %size_of.exit.thread.i
  br label %cond.end.i

cond.end.i:                                       ; preds = %74, %size_of.exit.i
  %75 = phi i64 [ 0, %74 ], [ %cond.i120, %size_of.exit.i ]
  %full.i.i = getelementptr inbounds i8, ptr %values, i64 144
  store i64 %75, ptr %full.i.i, align 8
  %of_x.i = getelementptr inbounds i8, ptr %values, i64 288
  %none.i = getelementptr inbounds i8, ptr %values, i64 192
  %none.sink.i = select i1 %cmp4.i, ptr %full.i.i, ptr %none.i
  call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(48) %of_x.i, ptr noundef nonnull align 8 dereferenceable(48) %none.sink.i, i64 48, i1 false)
  %of_y.i = getelementptr inbounds i8, ptr %values, i64 336
  %full.i.sink.i = select i1 %cmp8.i, ptr %full.i.i, ptr %none.i
  call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(48) %of_y.i, ptr noundef nonnull align 8 dereferenceable(48) %full.i.sink.i, i64 48, i1 false)
  br label %if.end20

if.end.i124:                                      ; preds = %lor.lhs.false26.i
  br i1 %cmp4.i, label %cond.true44.sink.split.i, label %cond.true44.i

cond.end41.i:                                     ; preds = %lor.lhs.false.i129
  %nd.i.i = getelementptr inbounds i8, ptr %60, i64 24
  %76 = load i32, ptr %nd.i.i, align 8
  br i1 %cmp8.i, label %cond.true44.i, label %cond.end47.i

cond.true44.sink.split.i:                         ; preds = %if.end.i124, %land.rhs.i
  %is_loose.2 = phi i32 [ 1, %land.rhs.i ], [ 0, %if.end.i124 ]
  %nd.i226.i = getelementptr inbounds i8, ptr %60, i64 24
  %77 = load i32, ptr %nd.i226.i, align 8
  br label %cond.true44.i

cond.true44.i:                                    ; preds = %cond.true44.sink.split.i, %cond.end41.i, %if.end.i124
  %is_loose.3 = phi i32 [ %is_loose.2, %cond.true44.sink.split.i ], [ 0, %cond.end41.i ], [ 0, %if.end.i124 ]
  %cond42222.i = phi i32 [ %77, %cond.true44.sink.split.i ], [ %76, %cond.end41.i ], [ 0, %if.end.i124 ]
  %nd.i166.i = getelementptr inbounds i8, ptr %61, i64 24
  %78 = load i32, ptr %nd.i166.i, align 8
  br label %cond.end47.i

cond.end47.i:                                     ; preds = %cond.true44.i, %cond.end41.i
  %is_loose.4 = phi i32 [ %is_loose.3, %cond.true44.i ], [ 0, %cond.end41.i ]
  %cond42221.i = phi i32 [ %cond42222.i, %cond.true44.i ], [ %76, %cond.end41.i ]
  %cond48.i = phi i32 [ %78, %cond.true44.i ], [ 0, %cond.end41.i ]
  %cond54.i = call i32 @llvm.smax.i32(i32 %cond42221.i, i32 %cond48.i)
  %cmp55.i = icmp sgt i32 %cond54.i, 6
  br i1 %cmp55.i, label %if.then12, label %if.end58.i

if.end58.i:                                       ; preds = %cond.end47.i
  %ndim59.i = getelementptr inbounds i8, ptr %values, i64 80
  store i32 %cond54.i, ptr %ndim59.i, align 8
  %cmp60234.i = icmp sgt i32 %cond54.i, 0
  br i1 %cmp60234.i, label %for.body.lr.ph.i, label %lay_out.exit.i

for.body.lr.ph.i:                                 ; preds = %if.end58.i
  %dimensions.i.i = getelementptr inbounds i8, ptr %60, i64 32
  %dimensions.i179.i = getelementptr inbounds i8, ptr %61, i64 32
  %lengths.i = getelementptr inbounds i8, ptr %values, i64 96
  %79 = zext nneg i32 %cond54.i to i64
  br label %for.body.i

for.body.lr.ph.i169.i:                            ; preds = %cond.end81.i
  %full.i171.i = getelementptr inbounds i8, ptr %values, i64 144
  %80 = select i1 %cmp.i119, i64 3, i64 2
  br label %for.body.i172.i

for.body.i172.i:                                  ; preds = %for.body.i172.i, %for.body.lr.ph.i169.i
  %indvars.iv.i173.i = phi i64 [ %79, %for.body.lr.ph.i169.i ], [ %indvars.iv.next.i174.i, %for.body.i172.i ]
  %size.018.i.i = phi i64 [ 1, %for.body.lr.ph.i169.i ], [ %mul7.i.i, %for.body.i172.i ]
  %indvars.iv.next.i174.i = add nsw i64 %indvars.iv.i173.i, -1
  %arrayidx.i175.i = getelementptr inbounds [6 x i64], ptr %lengths.i, i64 0, i64 %indvars.iv.next.i174.i
  %81 = load i64, ptr %arrayidx.i175.i, align 8
  %cmp1.i.i = icmp eq i64 %81, 1
  %mul.i176.i = shl i64 %size.018.i.i, %80
  %cond.i177.i = select i1 %cmp1.i.i, i64 0, i64 %mul.i176.i
  %arrayidx3.i.i = getelementptr inbounds [6 x i64], ptr %full.i171.i, i64 0, i64 %indvars.iv.next.i174.i
  store i64 %cond.i177.i, ptr %arrayidx3.i.i, align 8
  %mul7.i.i = mul nsw i64 %81, %size.018.i.i
  %cmp.i178.i = icmp ugt i64 %indvars.iv.i173.i, 1
  br i1 %cmp.i178.i, label %for.body.i172.i, label %lay_out.exit.i

lay_out.exit.i:                                   ; preds = %for.body.i172.i, %if.end58.i
  %size.0.lcssa.i168.i = phi i64 [ 1, %if.end58.i ], [ %mul7.i.i, %for.body.i172.i ]
  %most.i = getelementptr inbounds i8, ptr %1, i64 120
  %82 = load i64, ptr %most.i, align 8
  %cmp87.not.i = icmp sgt i64 %size.0.lcssa.i168.i, %82
  br i1 %cmp87.not.i, label %if.then12, label %land.lhs.true89.i

for.body.i:                                       ; preds = %cond.end81.i, %for.body.lr.ph.i
  %indvars.iv.i = phi i64 [ %79, %for.body.lr.ph.i ], [ %indvars.iv.next.i, %cond.end81.i ]
  %in_y.0236.i = phi i32 [ %cond48.i, %for.body.lr.ph.i ], [ %dec70.i, %cond.end81.i ]
  %in_x.0235.i = phi i32 [ %cond42221.i, %for.body.lr.ph.i ], [ %dec.i, %cond.end81.i ]
  %indvars.iv.next.i = add nsw i64 %indvars.iv.i, -1
  %dec.i = add nsw i32 %in_x.0235.i, -1
  %cmp62.i = icmp slt i32 %in_x.0235.i, 1
  br i1 %cmp62.i, label %cond.end68.i, label %cond.false65.i

cond.false65.i:                                   ; preds = %for.body.i
  %83 = load ptr, ptr %dimensions.i.i, align 8
  %idxprom.i128 = zext nneg i32 %dec.i to i64
  %arrayidx67.i = getelementptr inbounds i64, ptr %83, i64 %idxprom.i128
  %84 = load i64, ptr %arrayidx67.i, align 8
  br label %cond.end68.i

cond.end68.i:                                     ; preds = %cond.false65.i, %for.body.i
  %cond69.i = phi i64 [ %84, %cond.false65.i ], [ 1, %for.body.i ]
  %dec70.i = add nsw i32 %in_y.0236.i, -1
  %cmp71.i = icmp sgt i32 %in_y.0236.i, 0
  %cmp74.i = icmp eq i64 %cond69.i, 1
  %or.cond112.i = select i1 %cmp71.i, i1 %cmp74.i, i1 false
  br i1 %or.cond112.i, label %cond.true76.i, label %cond.end81.i

cond.true76.i:                                    ; preds = %cond.end68.i
  %85 = load ptr, ptr %dimensions.i179.i, align 8
  %idxprom78.i = zext nneg i32 %dec70.i to i64
  %arrayidx79.i = getelementptr inbounds i64, ptr %85, i64 %idxprom78.i
  %86 = load i64, ptr %arrayidx79.i, align 8
  br label %cond.end81.i

cond.end81.i:                                     ; preds = %cond.true76.i, %cond.end68.i
  %cond82.i = phi i64 [ %86, %cond.true76.i ], [ %cond69.i, %cond.end68.i ]
  %arrayidx84.i = getelementptr inbounds [6 x i64], ptr %lengths.i, i64 0, i64 %indvars.iv.next.i
  store i64 %cond82.i, ptr %arrayidx84.i, align 8
  %cmp60.i = icmp ugt i64 %indvars.iv.i, 1
  br i1 %cmp60.i, label %for.body.i, label %for.body.lr.ph.i169.i

land.lhs.true89.i:                                ; preds = %lay_out.exit.i
  br i1 %cmp4.i, label %lor.lhs.false91.i, label %land.rhs96.i

lor.lhs.false91.i:                                ; preds = %land.lhs.true89.i
  %of_x92.i = getelementptr inbounds i8, ptr %values, i64 288
  %lengths93.i = getelementptr inbounds i8, ptr %values, i64 96
  %nd.i.i180.i = getelementptr inbounds i8, ptr %60, i64 24
  %87 = load i32, ptr %nd.i.i180.i, align 8
  %sub.i.i = sub nsw i32 %cond54.i, %87
  %cmp.i181.i = icmp slt i32 %sub.i.i, 0
  br i1 %cmp.i181.i, label %if.then12, label %for.cond.preheader.i.i

for.cond.preheader.i.i:                           ; preds = %lor.lhs.false91.i
  %cmp255.i.i = icmp slt i32 %cond54.i, 1
  br i1 %cmp255.i.i, label %find_steps.exit.i, label %for.body.lr.ph.i182.i

for.body.lr.ph.i182.i:                            ; preds = %for.cond.preheader.i.i
  %dimensions.i.i183.i = getelementptr inbounds i8, ptr %60, i64 32
  %strides.i.i.i = getelementptr inbounds i8, ptr %60, i64 40
  %88 = zext nneg i32 %cond54.i to i64
  %89 = zext nneg i32 %sub.i.i to i64
  br label %for.body.i184.i

for.body.i184.i:                                  ; preds = %cond.end19.i.i, %for.body.lr.ph.i182.i
  %indvars.iv.i185.i = phi i64 [ %88, %for.body.lr.ph.i182.i ], [ %indvars.iv.next.i186.i, %cond.end19.i.i ]
  %indvars.iv.next.i186.i = add nsw i64 %indvars.iv.i185.i, -1
  %cmp3.not.i.i = icmp sgt i64 %indvars.iv.i185.i, %89
  br i1 %cmp3.not.i.i, label %cond.end.i.i125, label %cond.end19.i.i

cond.end.i.i125:                                  ; preds = %for.body.i184.i
  %90 = load ptr, ptr %dimensions.i.i183.i, align 8
  %91 = sub nsw i64 %indvars.iv.next.i186.i, %89
  %arrayidx.i187.i = getelementptr inbounds i64, ptr %90, i64 %91
  %92 = load i64, ptr %arrayidx.i187.i, align 8
  %arrayidx7.i.i = getelementptr inbounds i64, ptr %lengths93.i, i64 %indvars.iv.next.i186.i
  %93 = load i64, ptr %arrayidx7.i.i, align 8
  %cmp8.i.i = icmp eq i64 %92, %93
  %cmp9.i.i = icmp eq i64 %92, 1
  %or.cond.not.i.i = or i1 %cmp9.i.i, %cmp8.i.i
  br i1 %or.cond.not.i.i, label %if.end11.i.i126, label %if.then12

if.end11.i.i126:                                  ; preds = %cond.end.i.i125
  br i1 %cmp9.i.i, label %cond.end19.i.i, label %cond.false14.i.i

cond.false14.i.i:                                 ; preds = %if.end11.i.i126
  %94 = load ptr, ptr %strides.i.i.i, align 8
  %arrayidx18.i.i127 = getelementptr inbounds i64, ptr %94, i64 %91
  %95 = load i64, ptr %arrayidx18.i.i127, align 8
  br label %cond.end19.i.i

cond.end19.i.i:                                   ; preds = %cond.false14.i.i, %if.end11.i.i126, %for.body.i184.i
  %cond20.i.i = phi i64 [ %95, %cond.false14.i.i ], [ 0, %if.end11.i.i126 ], [ 0, %for.body.i184.i ]
  %arrayidx22.i.i = getelementptr inbounds [6 x i64], ptr %of_x92.i, i64 0, i64 %indvars.iv.next.i186.i
  store i64 %cond20.i.i, ptr %arrayidx22.i.i, align 8
  %cmp2.i.i = icmp ult i64 %indvars.iv.i185.i, 2
  br i1 %cmp2.i.i, label %find_steps.exit.i, label %for.body.i184.i

find_steps.exit.i:                                ; preds = %cond.end19.i.i, %for.cond.preheader.i.i
  br i1 %cmp8.i, label %lor.rhs.i, label %if.end20

land.rhs96.i:                                     ; preds = %land.lhs.true89.i
  br i1 %cmp8.i, label %lor.rhs.i, label %if.end20

lor.rhs.i:                                        ; preds = %land.rhs96.i, %find_steps.exit.i
  %of_y98.i = getelementptr inbounds i8, ptr %values, i64 336
  %lengths99.i = getelementptr inbounds i8, ptr %values, i64 96
  %nd.i.i188.i = getelementptr inbounds i8, ptr %61, i64 24
  %96 = load i32, ptr %nd.i.i188.i, align 8
  %sub.i189.i = sub nsw i32 %cond54.i, %96
  %cmp.i190.i = icmp slt i32 %sub.i189.i, 0
  br i1 %cmp.i190.i, label %if.then12, label %for.cond.preheader.i191.i

for.cond.preheader.i191.i:                        ; preds = %lor.rhs.i
  %cmp255.i192.i = icmp slt i32 %cond54.i, 1
  br i1 %cmp255.i192.i, label %if.end20, label %for.body.lr.ph.i193.i

for.body.lr.ph.i193.i:                            ; preds = %for.cond.preheader.i191.i
  %dimensions.i.i194.i = getelementptr inbounds i8, ptr %61, i64 32
  %strides.i.i195.i = getelementptr inbounds i8, ptr %61, i64 40
  %97 = zext nneg i32 %cond54.i to i64
  %98 = zext nneg i32 %sub.i189.i to i64
  br label %for.body.i196.i

for.body.i196.i:                                  ; preds = %cond.end19.i200.i, %for.body.lr.ph.i193.i
  %indvars.iv.i197.i = phi i64 [ %97, %for.body.lr.ph.i193.i ], [ %indvars.iv.next.i198.i, %cond.end19.i200.i ]
  %indvars.iv.next.i198.i = add nsw i64 %indvars.iv.i197.i, -1
  %cmp3.not.i199.i = icmp sgt i64 %indvars.iv.i197.i, %98
  br i1 %cmp3.not.i199.i, label %cond.end.i205.i, label %cond.end19.i200.i

cond.end.i205.i:                                  ; preds = %for.body.i196.i
  %99 = load ptr, ptr %dimensions.i.i194.i, align 8
  %100 = sub nsw i64 %indvars.iv.next.i198.i, %98
  %arrayidx.i206.i = getelementptr inbounds i64, ptr %99, i64 %100
  %101 = load i64, ptr %arrayidx.i206.i, align 8
  %arrayidx7.i207.i = getelementptr inbounds i64, ptr %lengths99.i, i64 %indvars.iv.next.i198.i
  %102 = load i64, ptr %arrayidx7.i207.i, align 8
  %cmp8.i208.i = icmp eq i64 %101, %102
  %cmp9.i209.i = icmp eq i64 %101, 1
  %or.cond.not.i210.i = or i1 %cmp9.i209.i, %cmp8.i208.i
  br i1 %or.cond.not.i210.i, label %if.end11.i211.i, label %if.then12

if.end11.i211.i:                                  ; preds = %cond.end.i205.i
  br i1 %cmp9.i209.i, label %cond.end19.i200.i, label %cond.false14.i212.i

cond.false14.i212.i:                              ; preds = %if.end11.i211.i
  %103 = load ptr, ptr %strides.i.i195.i, align 8
  %arrayidx18.i213.i = getelementptr inbounds i64, ptr %103, i64 %100
  %104 = load i64, ptr %arrayidx18.i213.i, align 8
  br label %cond.end19.i200.i

cond.end19.i200.i:                                ; preds = %cond.false14.i212.i, %if.end11.i211.i, %for.body.i196.i
  %cond20.i201.i = phi i64 [ %104, %cond.false14.i212.i ], [ 0, %if.end11.i211.i ], [ 0, %for.body.i196.i ]
  %arrayidx22.i202.i = getelementptr inbounds [6 x i64], ptr %of_y98.i, i64 0, i64 %indvars.iv.next.i198.i
  store i64 %cond20.i201.i, ptr %arrayidx22.i202.i, align 8
  %cmp2.i203.i = icmp ult i64 %indvars.iv.i197.i, 2
  br i1 %cmp2.i203.i, label %if.end20, label %for.body.i196.i

if.then12:                                        ; preds = %cond.end.i.i125, %cond.end.i205.i, %lor.rhs.i, %lor.lhs.false91.i, %lay_out.exit.i, %cond.end47.i, %entry, %if.else.i, %if.end28.i.i, %if.end11.i.i, %if.then4.i.i, %land.lhs.true.i110.i, %land.lhs.true30.i, %land.lhs.true3.i113.i, %if.end.i114, %land.lhs.true3.i.i, %is_for_loops.exit133.i, %is_for_loops.exit.i, %land.lhs.true.i, %lor.lhs.false.i, %cond.end, %cond.end7
  %call13 = call ptr @PyErr_Occurred() #8
  %tobool14.not = icmp eq ptr %call13, null
  br i1 %tobool14.not, label %cond.false16, label %cleanup78

cond.false16:                                     ; preds = %if.then12
  %none = getelementptr inbounds i8, ptr %1, i64 24
  %105 = load ptr, ptr %none, align 8
  call void @Py_IncRef(ptr noundef %105) #8
  br label %cleanup78

if.end20:                                         ; preds = %cond.end19.i200.i, %for.cond.preheader.i191.i, %land.rhs96.i, %find_steps.exit.i, %cond.end.i
  %is_loose.5 = phi i32 [ %is_loose.4, %for.cond.preheader.i191.i ], [ %is_loose.4, %find_steps.exit.i ], [ %is_loose.4, %land.rhs96.i ], [ 0, %cond.end.i ], [ %is_loose.4, %cond.end19.i200.i ]
  %106 = load ptr, ptr %descr.i.i, align 8
  %type_num = getelementptr inbounds i8, ptr %106, i64 28
  %107 = load i32, ptr %type_num, align 4
  %cmp22 = icmp eq i32 %107, 12
  call void @Py_IncRef(ptr noundef %106) #8
  %108 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx = getelementptr inbounds i8, ptr %108, i64 752
  %109 = load ptr, ptr %arrayidx, align 8
  %arrayidx24 = getelementptr inbounds i8, ptr %108, i64 16
  %110 = load ptr, ptr %arrayidx24, align 8
  %111 = load ptr, ptr %descr.i.i, align 8
  %tobool26.not = icmp eq i32 %is_loose.5, 0
  br i1 %tobool26.not, label %cond.false35, label %cond.true33

cond.true33:                                      ; preds = %if.end20
  %ndim = getelementptr inbounds i8, ptr %values, i64 80
  %112 = load i32, ptr %ndim, align 8
  %lengths = getelementptr inbounds i8, ptr %values, i64 96
  br label %cond.end37

cond.false35:                                     ; preds = %if.end20
  %113 = load i32, ptr %nd.i.i.i.i, align 8
  %dimensions.i = getelementptr inbounds i8, ptr %17, i64 32
  %114 = load ptr, ptr %dimensions.i, align 8
  br label %cond.end37

cond.end37:                                       ; preds = %cond.false35, %cond.true33
  %cond31221 = phi i32 [ %112, %cond.true33 ], [ %113, %cond.false35 ]
  %cond38 = phi ptr [ %lengths, %cond.true33 ], [ %114, %cond.false35 ]
  %call39 = call ptr %109(ptr noundef %110, ptr noundef %111, i32 noundef %cond31221, ptr noundef %cond38, ptr noundef null, ptr noundef null, i32 noundef 0, ptr noundef null) #8
  %cmp40 = icmp eq ptr %call39, null
  br i1 %cmp40, label %cleanup78, label %if.end43

if.end43:                                         ; preds = %cond.end37
  %temporaries = getelementptr inbounds i8, ptr %0, i64 112
  %115 = load i64, ptr %temporaries, align 8
  %cmp44.not = icmp eq i64 %115, 0
  br i1 %cmp44.not, label %if.end50, label %if.then46

if.then46:                                        ; preds = %if.end43
  %nd.i.i135 = getelementptr inbounds i8, ptr %call39, i64 24
  %116 = load i32, ptr %nd.i.i135, align 8
  %cmp6.i = icmp sgt i32 %116, 0
  br i1 %cmp6.i, label %for.body.lr.ph.i137, label %size_of.exit

for.body.lr.ph.i137:                              ; preds = %if.then46
  %dimensions.i.i138 = getelementptr inbounds i8, ptr %call39, i64 32
  %117 = load ptr, ptr %dimensions.i.i138, align 8
  %wide.trip.count.i = zext nneg i32 %116 to i64
  br label %for.body.i139

for.body.i139:                                    ; preds = %for.body.i139, %for.body.lr.ph.i137
  %indvars.iv.i140 = phi i64 [ 0, %for.body.lr.ph.i137 ], [ %indvars.iv.next.i141, %for.body.i139 ]
  %size.07.i = phi i64 [ 1, %for.body.lr.ph.i137 ], [ %mul.i, %for.body.i139 ]
  %arrayidx.i = getelementptr inbounds i64, ptr %117, i64 %indvars.iv.i140
  %118 = load i64, ptr %arrayidx.i, align 8
  %mul.i = mul nsw i64 %118, %size.07.i
  %indvars.iv.next.i141 = add nuw nsw i64 %indvars.iv.i140, 1
  %exitcond.not.i = icmp eq i64 %indvars.iv.next.i141, %wide.trip.count.i
  br i1 %exitcond.not.i, label %size_of.exit.loopexit, label %for.body.i139

size_of.exit.loopexit:                            ; preds = %for.body.i139
  %119 = shl i64 %mul.i, 3
  %120 = add i64 %119, 8
  br label %size_of.exit

size_of.exit:                                     ; preds = %size_of.exit.loopexit, %if.then46
  %size.0.lcssa.i = phi i64 [ 16, %if.then46 ], [ %120, %size_of.exit.loopexit ]
  %mul49 = mul nsw i64 %size.0.lcssa.i, %115
  %121 = alloca i8, i64 %mul49, align 64
  br label %for.body.i142

for.body.i142:                                    ; preds = %for.body.i142, %size_of.exit
  %indvars.iv.i143 = phi i64 [ 0, %size_of.exit ], [ %indvars.iv.next.i147, %for.body.i142 ]
  %mul.i144 = mul nsw i64 %indvars.iv.i143, %size.0.lcssa.i
  %add.ptr.i145 = getelementptr inbounds i8, ptr %121, i64 %mul.i144
  %122 = add nuw nsw i64 %indvars.iv.i143, 4
  %arrayidx.i146 = getelementptr inbounds [10 x ptr], ptr %values, i64 0, i64 %122
  store ptr %add.ptr.i145, ptr %arrayidx.i146, align 8
  %indvars.iv.next.i147 = add nuw nsw i64 %indvars.iv.i143, 1
  %exitcond.not.i148 = icmp eq i64 %indvars.iv.next.i147, 6
  br i1 %exitcond.not.i148, label %if.end50, label %for.body.i142

if.end50:                                         ; preds = %for.body.i142, %if.end43
  %flags = getelementptr inbounds i8, ptr %1, i64 112
  %123 = load i64, ptr %flags, align 8
  %conv51 = trunc i64 %123 to i32
  %call52 = call i32 @fetestexcept(i32 noundef %conv51) #8
  %tobool53.not = icmp eq i32 %call52, 0
  br i1 %tobool53.not, label %if.end58, label %if.then54

if.then54:                                        ; preds = %if.end50
  %124 = load i64, ptr %flags, align 8
  %conv56 = trunc i64 %124 to i32
  %call57 = call i32 @feclearexcept(i32 noundef %conv56) #8
  br label %if.end58

if.end58:                                         ; preds = %if.then54, %if.end50
  %rest = getelementptr inbounds i8, ptr %0, i64 120
  %cond64.in.v = select i1 %cmp22, i64 104, i64 96
  %cond64.in = getelementptr inbounds i8, ptr %0, i64 %cond64.in.v
  %cond64 = load i64, ptr %cond64.in, align 8
  %arrayidx.i150 = getelementptr inbounds i64, ptr %rest, i64 %cond64
  %125 = load i64, ptr %arrayidx.i150, align 8
  %cmp71.i151 = icmp sgt i64 %125, 0
  br i1 %cmp71.i151, label %for.body.lr.ph.i153, label %take_steps.exit

for.body.lr.ph.i153:                              ; preds = %if.end58
  %arrayidx1.i154 = getelementptr i8, ptr %arrayidx.i150, i64 8
  %steps.i = getelementptr inbounds i8, ptr %all.i, i64 24
  %sub14.i = add nsw i64 %125, -1
  %data.i.i = getelementptr inbounds i8, ptr %call39, i64 16
  %full.i = getelementptr inbounds i8, ptr %values, i64 144
  %ndim.i = getelementptr inbounds i8, ptr %values, i64 80
  %lengths.i155 = getelementptr inbounds i8, ptr %values, i64 96
  %invariant.gep.i.i = getelementptr i8, ptr %axes.i.i, i64 -40
  %126 = getelementptr inbounds i8, ptr %axes.i.i, i64 8
  br label %for.body.i156

for.body.i156:                                    ; preds = %go_through.exit.i, %for.body.lr.ph.i153
  %step.073.i = phi ptr [ %arrayidx1.i154, %for.body.lr.ph.i153 ], [ %incdec.ptr.i, %go_through.exit.i ]
  %k.072.i = phi i64 [ 0, %for.body.lr.ph.i153 ], [ %inc36.i, %go_through.exit.i ]
  call void @llvm.lifetime.start.p0(i64 48, ptr nonnull %all.i) #8
  %count3.i = getelementptr inbounds i8, ptr %step.073.i, i64 16
  %127 = load i64, ptr %count3.i, align 8
  %cmp469.i = icmp sgt i64 %127, 0
  br i1 %cmp469.i, label %for.body6.lr.ph.i, label %for.cond.cleanup5.i

for.body6.lr.ph.i:                                ; preds = %for.body.i156
  %operands.i170 = getelementptr inbounds i8, ptr %step.073.i, i64 24
  br label %for.body6.i

for.cond.cleanup5.i:                              ; preds = %cond.end.i172, %for.body.i156
  %cmp15.i = icmp eq i64 %k.072.i, %sub14.i
  br i1 %cmp15.i, label %cond.end21.i, label %cond.false18.i

for.body6.i:                                      ; preds = %cond.end.i172, %for.body6.lr.ph.i
  %i.070.i = phi i64 [ 0, %for.body6.lr.ph.i ], [ %inc.i, %cond.end.i172 ]
  %arrayidx7.i = getelementptr inbounds [2 x i64], ptr %operands.i170, i64 0, i64 %i.070.i
  %128 = load i64, ptr %arrayidx7.i, align 8
  %cmp8.i171 = icmp slt i64 %128, 0
  br i1 %cmp8.i171, label %cond.true.i, label %cond.false.i

cond.true.i:                                      ; preds = %for.body6.i
  %sub.i = xor i64 %128, -1
  %arrayidx9.i = getelementptr inbounds i64, ptr %rest, i64 %sub.i
  br label %cond.end.i172

cond.false.i:                                     ; preds = %for.body6.i
  %arrayidx10.i = getelementptr inbounds [10 x ptr], ptr %values, i64 0, i64 %128
  %129 = load ptr, ptr %arrayidx10.i, align 8
  br label %cond.end.i172

cond.end.i172:                                    ; preds = %cond.false.i, %cond.true.i
  %cond.v.i.i = phi i64 [ 192, %cond.true.i ], [ 144, %cond.false.i ]
  %cond.i173 = phi ptr [ %arrayidx9.i, %cond.true.i ], [ %129, %cond.false.i ]
  %arrayidx11.i = getelementptr inbounds [3 x ptr], ptr %all.i, i64 0, i64 %i.070.i
  store ptr %cond.i173, ptr %arrayidx11.i, align 8
  %130 = icmp ult i64 %128, 3
  %switch.idx.mult = mul nsw i64 %128, 48
  %switch.offset = add nsw i64 %switch.idx.mult, 240
  %cond.v.sink.i.i = select i1 %130, i64 %switch.offset, i64 %cond.v.i.i
  %cond.i.i174 = getelementptr inbounds i8, ptr %values, i64 %cond.v.sink.i.i
  %arrayidx13.i = getelementptr inbounds [3 x ptr], ptr %steps.i, i64 0, i64 %i.070.i
  store ptr %cond.i.i174, ptr %arrayidx13.i, align 8
  %inc.i = add nuw nsw i64 %i.070.i, 1
  %exitcond.not.i175 = icmp eq i64 %inc.i, %127
  br i1 %exitcond.not.i175, label %for.cond.cleanup5.i, label %for.body6.i

cond.false18.i:                                   ; preds = %for.cond.cleanup5.i
  %result.i = getelementptr inbounds i8, ptr %step.073.i, i64 40
  %131 = load i64, ptr %result.i, align 8
  %arrayidx20.i = getelementptr inbounds [10 x ptr], ptr %values, i64 0, i64 %131
  br label %cond.end21.i

cond.end21.i:                                     ; preds = %cond.false18.i, %for.cond.cleanup5.i
  %cond22.in.i = phi ptr [ %arrayidx20.i, %cond.false18.i ], [ %data.i.i, %for.cond.cleanup5.i ]
  %cond22.i = load ptr, ptr %cond22.in.i, align 8
  %arrayidx25.i = getelementptr inbounds [3 x ptr], ptr %all.i, i64 0, i64 %127
  store ptr %cond22.i, ptr %arrayidx25.i, align 8
  %arrayidx29.i = getelementptr inbounds [3 x ptr], ptr %steps.i, i64 0, i64 %127
  store ptr %full.i, ptr %arrayidx29.i, align 8
  %132 = load ptr, ptr %step.073.i, align 8
  %its.i = getelementptr inbounds i8, ptr %step.073.i, i64 8
  %133 = load ptr, ptr %its.i, align 8
  %conv.i157 = trunc i64 %127 to i32
  %add31.i = add nsw i32 %conv.i157, 1
  %134 = load i32, ptr %ndim.i, align 8
  call void @llvm.lifetime.start.p0(i64 240, ptr nonnull %axes.i.i) #8
  %cmp227.i.i = icmp slt i32 %134, 1
  br i1 %cmp227.i.i, label %cond.end21.if.end79.thread.i_crit_edge.i, label %for.body.lr.ph.i.i158

cond.end21.if.end79.thread.i_crit_edge.i:         ; preds = %cond.end21.i
  %.pre78.i = zext nneg i32 %add31.i to i64
  br label %if.end79.thread.i.i

for.body.lr.ph.i.i158:                            ; preds = %cond.end21.i
  %cmp10222.i.i = icmp sgt i32 %conv.i157, -1
  %135 = sext i32 %add31.i to i64
  %136 = zext nneg i32 %134 to i64
  %wide.trip.count.i.i159 = zext nneg i32 %add31.i to i64
  br label %for.body.i.i160

for.body.i.i160:                                  ; preds = %for.inc69.i.i, %for.body.lr.ph.i.i158
  %indvars.iv245.i.i = phi i64 [ %136, %for.body.lr.ph.i.i158 ], [ %indvars.iv.next246.i.i, %for.inc69.i.i ]
  %found.0228.i.i = phi i32 [ 0, %for.body.lr.ph.i.i158 ], [ %found.2.i.i, %for.inc69.i.i ]
  %indvars.iv.next246.i.i = add nsw i64 %indvars.iv245.i.i, -1
  %arrayidx.i.i161 = getelementptr inbounds i64, ptr %lengths.i155, i64 %indvars.iv.next246.i.i
  %137 = load i64, ptr %arrayidx.i.i161, align 8
  switch i64 %137, label %if.end7.i.i [
    i64 0, label %go_through.exit.i
    i64 1, label %for.inc69.i.i
  ]

if.end7.i.i:                                      ; preds = %for.body.i.i160
  %cmp8.i.i163 = icmp sgt i32 %found.0228.i.i, 0
  %138 = select i1 %cmp10222.i.i, i1 %cmp8.i.i163, i1 false
  br i1 %138, label %for.body13.lr.ph.i.i, label %for.cond.cleanup12.i.i

for.body13.lr.ph.i.i:                             ; preds = %if.end7.i.i
  %139 = zext nneg i32 %found.0228.i.i to i64
  %140 = getelementptr %struct.axis, ptr %axes.i.i, i64 %139
  %arrayidx22.i.i165 = getelementptr i8, ptr %140, i64 -40
  %steps23.i.i = getelementptr i8, ptr %140, i64 -32
  %141 = load i64, ptr %arrayidx22.i.i165, align 8
  br label %for.body13.i.i

for.cond.cleanup12.i.i:                           ; preds = %for.body13.i.i, %if.end7.i.i
  %joins.0.in.lcssa.i.i = phi i1 [ %cmp8.i.i163, %if.end7.i.i ], [ %cmp29.i.i168, %for.body13.i.i ]
  %142 = sext i32 %found.0228.i.i to i64
  br i1 %joins.0.in.lcssa.i.i, label %if.then32.i.i, label %if.end40.i.i

for.body13.i.i:                                   ; preds = %for.body13.i.i, %for.body13.lr.ph.i.i
  %indvars.iv.i.i166 = phi i64 [ 0, %for.body13.lr.ph.i.i ], [ %indvars.iv.next.i.i169, %for.body13.i.i ]
  %arrayidx16.i.i = getelementptr inbounds [3 x ptr], ptr %steps.i, i64 0, i64 %indvars.iv.i.i166
  %143 = load ptr, ptr %arrayidx16.i.i, align 8
  %arrayidx19.i.i = getelementptr inbounds [6 x i64], ptr %143, i64 0, i64 %indvars.iv.next246.i.i
  %144 = load i64, ptr %arrayidx19.i.i, align 8
  %arrayidx25.i.i = getelementptr inbounds [3 x i64], ptr %steps23.i.i, i64 0, i64 %indvars.iv.i.i166
  %145 = load i64, ptr %arrayidx25.i.i, align 8
  %mul.i.i167 = mul nsw i64 %145, %141
  %cmp29.i.i168 = icmp eq i64 %144, %mul.i.i167
  %indvars.iv.next.i.i169 = add nuw nsw i64 %indvars.iv.i.i166, 1
  %cmp10.i.i = icmp slt i64 %indvars.iv.next.i.i169, %135
  %146 = select i1 %cmp10.i.i, i1 %cmp29.i.i168, i1 false
  br i1 %146, label %for.body13.i.i, label %for.cond.cleanup12.i.i

if.then32.i.i:                                    ; preds = %for.cond.cleanup12.i.i
  %gep.i.i = getelementptr %struct.axis, ptr %invariant.gep.i.i, i64 %142
  %147 = load i64, ptr %gep.i.i, align 8
  %mul39.i.i = mul nsw i64 %147, %137
  store i64 %mul39.i.i, ptr %gep.i.i, align 8
  br label %for.inc69.i.i

if.end40.i.i:                                     ; preds = %for.cond.cleanup12.i.i
  %arrayidx44.i.i = getelementptr inbounds %struct.axis, ptr %axes.i.i, i64 %142
  store i64 %137, ptr %arrayidx44.i.i, align 8
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
  %148 = load ptr, ptr %arrayidx56.i.i, align 8
  %arrayidx59.i.i = getelementptr inbounds [6 x i64], ptr %148, i64 0, i64 %indvars.iv.next246.i.i
  %149 = load i64, ptr %arrayidx59.i.i, align 8
  %arrayidx64.i.i = getelementptr inbounds [3 x i64], ptr %steps62.i.i, i64 0, i64 %indvars.iv242.i.i
  store i64 %149, ptr %arrayidx64.i.i, align 8
  %indvars.iv.next243.i.i = add nuw nsw i64 %indvars.iv242.i.i, 1
  %exitcond.not.i.i164 = icmp eq i64 %indvars.iv.next243.i.i, %wide.trip.count.i.i159
  br i1 %exitcond.not.i.i164, label %for.cond.cleanup52.i.i, label %for.body53.i.i

for.inc69.i.i:                                    ; preds = %for.cond.cleanup52.i.i, %if.then32.i.i, %for.body.i.i160
  %found.2.i.i = phi i32 [ %found.0228.i.i, %for.body.i.i160 ], [ %found.0228.i.i, %if.then32.i.i ], [ %inc68.i.i, %for.cond.cleanup52.i.i ]
  %cmp.i65.i = icmp slt i64 %indvars.iv245.i.i, 2
  br i1 %cmp.i65.i, label %for.end72.i.i, label %for.body.i.i160

for.end72.i.i:                                    ; preds = %for.inc69.i.i
  %cmp73.i.i = icmp eq i32 %found.2.i.i, 0
  br i1 %cmp73.i.i, label %if.end79.thread.i.i, label %if.end79.i.i

if.end79.thread.i.i:                              ; preds = %for.end72.i.i, %cond.end21.if.end79.thread.i_crit_edge.i
  %.pre.pre-phi.i = phi i64 [ %.pre78.i, %cond.end21.if.end79.thread.i_crit_edge.i ], [ %wide.trip.count.i.i159, %for.end72.i.i ]
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(40) %126, i8 0, i64 32, i1 false)
  store i64 1, ptr %axes.i.i, align 8
  br label %for.body85.lr.ph.i.i

if.end79.i.i:                                     ; preds = %for.end72.i.i
  %cmp82239.i.i = icmp sgt i32 %found.2.i.i, 0
  br i1 %cmp82239.i.i, label %for.body85.lr.ph.i.i, label %go_through.exit.i

for.body85.lr.ph.i.i:                             ; preds = %if.end79.i.i, %if.end79.thread.i.i
  %wide.trip.count251.i.pre-phi.i = phi i64 [ %wide.trip.count.i.i159, %if.end79.i.i ], [ %.pre.pre-phi.i, %if.end79.thread.i.i ]
  %found.3267.i.i = phi i32 [ %found.2.i.i, %if.end79.i.i ], [ 1, %if.end79.thread.i.i ]
  %cmp92235.not.i.i = icmp eq i32 %found.3267.i.i, 1
  %cmp97231.i.i = icmp sgt i32 %conv.i157, -1
  %wide.trip.count261.i.i = zext nneg i32 %found.3267.i.i to i64
  br label %for.body85.i.i

for.body85.i.i:                                   ; preds = %for.end150.i.i, %for.body85.lr.ph.i.i
  call void %132(ptr noundef nonnull %all.i, ptr noundef nonnull %axes.i.i, ptr noundef nonnull %126, ptr noundef %133) #8
  br i1 %cmp92235.not.i.i, label %for.end150.i.i, label %for.cond96.preheader.i.i

for.cond96.preheader.i.i:                         ; preds = %for.body85.i.i, %for.cond.cleanup130.i.i
  %indvars.iv258.i.i = phi i64 [ %indvars.iv.next259.i.i, %for.cond.cleanup130.i.i ], [ 1, %for.body85.i.i ]
  br i1 %cmp97231.i.i, label %for.body100.i.i, label %for.cond.cleanup99.i.i

for.cond.cleanup99.i.i:                           ; preds = %for.body100.i.i, %for.cond96.preheader.i.i
  %arrayidx113.i.i = getelementptr inbounds %struct.axis, ptr %axes.i.i, i64 %indvars.iv258.i.i
  %at114.i.i = getelementptr inbounds i8, ptr %arrayidx113.i.i, i64 32
  %150 = load i64, ptr %at114.i.i, align 8
  %inc115.i.i = add nsw i64 %150, 1
  store i64 %inc115.i.i, ptr %at114.i.i, align 8
  %151 = load i64, ptr %arrayidx113.i.i, align 8
  %cmp119.i.i = icmp slt i64 %inc115.i.i, %151
  br i1 %cmp119.i.i, label %for.end150.loopexit.i.i, label %if.end122.i.i

for.body100.i.i:                                  ; preds = %for.cond96.preheader.i.i, %for.body100.i.i
  %indvars.iv248.i.i = phi i64 [ %indvars.iv.next249.i.i, %for.body100.i.i ], [ 0, %for.cond96.preheader.i.i ]
  %arrayidx105.i.i = getelementptr inbounds %struct.axis, ptr %axes.i.i, i64 %indvars.iv258.i.i, i32 1, i64 %indvars.iv248.i.i
  %152 = load i64, ptr %arrayidx105.i.i, align 8
  %arrayidx107.i.i = getelementptr inbounds ptr, ptr %all.i, i64 %indvars.iv248.i.i
  %153 = load ptr, ptr %arrayidx107.i.i, align 8
  %add.ptr.i.i162 = getelementptr inbounds i8, ptr %153, i64 %152
  store ptr %add.ptr.i.i162, ptr %arrayidx107.i.i, align 8
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
  %154 = load i64, ptr %arrayidx136.i.i, align 8
  %arrayidx142.i.i = getelementptr inbounds ptr, ptr %all.i, i64 %indvars.iv253.i.i
  %155 = load ptr, ptr %arrayidx142.i.i, align 8
  %156 = mul i64 %151, %154
  %mul140.reass.i.i = sub i64 0, %156
  %add.ptr143.i.i = getelementptr inbounds i8, ptr %155, i64 %mul140.reass.i.i
  store ptr %add.ptr143.i.i, ptr %arrayidx142.i.i, align 8
  %indvars.iv.next254.i.i = add nuw nsw i64 %indvars.iv253.i.i, 1
  %exitcond257.not.i.i = icmp eq i64 %indvars.iv.next254.i.i, %wide.trip.count251.i.pre-phi.i
  br i1 %exitcond257.not.i.i, label %for.cond.cleanup130.i.i, label %for.body131.i.i

for.end150.loopexit.i.i:                          ; preds = %for.cond.cleanup99.i.i
  %157 = trunc nuw nsw i64 %indvars.iv258.i.i to i32
  br label %for.end150.i.i

for.end150.i.i:                                   ; preds = %for.end150.loopexit.i.i, %for.body85.i.i
  %k80.1.lcssa.i.i = phi i32 [ 1, %for.body85.i.i ], [ %157, %for.end150.loopexit.i.i ]
  %cmp82.i.i = icmp slt i32 %k80.1.lcssa.i.i, %found.3267.i.i
  br i1 %cmp82.i.i, label %for.body85.i.i, label %go_through.exit.i

go_through.exit.i:                                ; preds = %for.body.i.i160, %for.end150.i.i, %for.cond.cleanup130.i.i, %if.end79.i.i
  call void @llvm.lifetime.end.p0(i64 240, ptr nonnull %axes.i.i) #8
  call void @llvm.lifetime.end.p0(i64 48, ptr nonnull %all.i) #8
  %inc36.i = add nuw nsw i64 %k.072.i, 1
  %incdec.ptr.i = getelementptr inbounds i8, ptr %step.073.i, i64 48
  %exitcond77.not.i = icmp eq i64 %inc36.i, %125
  br i1 %exitcond77.not.i, label %take_steps.exit, label %for.body.i156

take_steps.exit:                                  ; preds = %go_through.exit.i, %if.end58
  %158 = load i64, ptr %flags, align 8
  %conv66 = trunc i64 %158 to i32
  %call67 = call i32 @fetestexcept(i32 noundef %conv66) #8
  %tobool68.not = icmp eq i32 %call67, 0
  br i1 %tobool68.not, label %cond.false72, label %cond.true69

cond.true69:                                      ; preds = %take_steps.exit
  %none70 = getelementptr inbounds i8, ptr %1, i64 24
  %159 = load ptr, ptr %none70, align 8
  call void @Py_IncRef(ptr noundef %159) #8
  br label %cond.end74

cond.false72:                                     ; preds = %take_steps.exit
  %160 = load ptr, ptr %0, align 8
  br i1 %tobool26.not, label %if.then.i183, label %if.end.i177

if.then.i183:                                     ; preds = %cond.false72
  %node.i = getelementptr inbounds i8, ptr %0, i64 8
  %161 = load ptr, ptr %node.i, align 8
  %cmp.i184 = icmp eq ptr %64, null
  %idxprom.i185 = zext i1 %cmp.i184 to i64
  %arrayidx2.i = getelementptr inbounds %struct.operand, ptr %given, i64 %idxprom.i185
  %162 = load ptr, ptr %arrayidx2.i, align 8
  %spec_of_tensor.i186 = getelementptr inbounds i8, ptr %160, i64 192
  %163 = load i64, ptr %spec_of_tensor.i186, align 8
  %add.ptr.i187 = getelementptr inbounds i8, ptr %162, i64 %163
  %164 = load ptr, ptr %add.ptr.i187, align 8
  %call.i188 = call fastcc ptr @recorded(ptr noundef nonnull readonly %0, ptr noundef %161, ptr noundef %164, ptr noundef nonnull readonly %given, ptr noundef nonnull %call39)
  br label %cond.end74

if.end.i177:                                      ; preds = %cond.false72
  %call4.i178 = call fastcc ptr @spec_for(ptr noundef %160, ptr noundef nonnull %call39)
  %cmp5.i = icmp eq ptr %call4.i178, null
  br i1 %cmp5.i, label %cond.end.i180, label %cond.false.i179

cond.false.i179:                                  ; preds = %if.end.i177
  %loose.i = getelementptr inbounds i8, ptr %0, i64 16
  %165 = load ptr, ptr %loose.i, align 8
  %call7.i = call fastcc ptr @recorded(ptr noundef nonnull readonly %0, ptr noundef %165, ptr noundef nonnull %call4.i178, ptr noundef nonnull readonly %given, ptr noundef nonnull %call39)
  br label %cond.end.i180

cond.end.i180:                                    ; preds = %cond.false.i179, %if.end.i177
  %cond.i181 = phi ptr [ %call7.i, %cond.false.i179 ], [ null, %if.end.i177 ]
  call void @Py_DecRef(ptr noundef %call4.i178) #8
  br label %cond.end74

cond.end74:                                       ; preds = %cond.end.i180, %if.then.i183, %cond.true69
  %cond75 = phi ptr [ %159, %cond.true69 ], [ %cond.i181, %cond.end.i180 ], [ %call.i188, %if.then.i183 ]
  call void @Py_DecRef(ptr noundef nonnull %call39) #8
  br label %cleanup78

cleanup78:                                        ; preds = %cond.end.thread194, %if.then12, %cond.false16, %cond.end37, %cond.end74
  %retval.2 = phi ptr [ %105, %cond.false16 ], [ null, %if.then12 ], [ %cond75, %cond.end74 ], [ null, %cond.end37 ], [ null, %cond.end.thread194 ]
  call void @llvm.lifetime.end.p0(i64 408, ptr nonnull %values) #8
  call void @llvm.lifetime.end.p0(i64 32, ptr nonnull %given) #8
  ret ptr %retval.2
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
  %modes1.i = getelementptr inbounds i8, ptr %1, i64 64
  %4 = load ptr, ptr %modes1.i, align 8
  %call.i = call i32 @PyContextVar_Get(ptr noundef %4, ptr noundef null, ptr noundef nonnull %modes.i) #8
  %cmp.i = icmp slt i32 %call.i, 0
  br i1 %cmp.i, label %are_normal.exit.thread, label %are_normal.exit

are_normal.exit.thread:                           ; preds = %entry
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %modes.i) #8
  br label %cleanup85

are_normal.exit:                                  ; preds = %entry
  %5 = load ptr, ptr %modes.i, align 8
  call void @Py_DecRef(ptr noundef %5) #8
  %6 = load ptr, ptr %modes.i, align 8
  %switch_.i = getelementptr inbounds i8, ptr %1, i64 72
  %7 = load ptr, ptr %switch_.i, align 8
  %normal_of_switch.i = getelementptr inbounds i8, ptr %1, i64 128
  %8 = load i64, ptr %normal_of_switch.i, align 8
  %add.ptr.i = getelementptr inbounds i8, ptr %7, i64 %8
  %9 = load ptr, ptr %add.ptr.i, align 8
  %cmp2.i.not = icmp eq ptr %6, %9
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %modes.i) #8
  br i1 %cmp2.i.not, label %lor.lhs.false, label %if.then16

lor.lhs.false:                                    ; preds = %are_normal.exit
  %operands5 = getelementptr inbounds i8, ptr %0, i64 144
  %10 = load i64, ptr %operands5, align 8
  %cmp6.not = icmp eq i64 %call3, %10
  br i1 %cmp6.not, label %lor.lhs.false9, label %land.lhs.true

land.lhs.true:                                    ; preds = %lor.lhs.false
  %cmp8 = icmp sgt i64 %10, -1
  %cmp10 = icmp sgt i64 %call3, 62
  %or.cond = select i1 %cmp8, i1 true, i1 %cmp10
  br i1 %or.cond, label %if.then16, label %lor.lhs.false11

lor.lhs.false9:                                   ; preds = %lor.lhs.false
  %cmp10.old = icmp sgt i64 %call3, 62
  br i1 %cmp10.old, label %if.then16, label %lor.lhs.false11

lor.lhs.false11:                                  ; preds = %land.lhs.true, %lor.lhs.false9
  %has_params = getelementptr inbounds i8, ptr %0, i64 128
  %11 = load i64, ptr %has_params, align 8
  %tobool12.not = icmp eq i64 %11, 0
  br i1 %tobool12.not, label %land.lhs.true13, label %if.end18

land.lhs.true13:                                  ; preds = %lor.lhs.false11
  %call14 = call i64 @PyDict_Size(ptr noundef %3) #8
  %cmp15.not = icmp eq i64 %call14, 0
  br i1 %cmp15.not, label %if.end18, label %if.then16

if.then16:                                        ; preds = %land.lhs.true13, %lor.lhs.false9, %land.lhs.true, %are_normal.exit
  %none = getelementptr inbounds i8, ptr %1, i64 24
  %12 = load ptr, ptr %none, align 8
  call void @Py_IncRef(ptr noundef %12) #8
  br label %cleanup85

if.end18:                                         ; preds = %land.lhs.true13, %lor.lhs.false11
  %cmp19.not212 = icmp sgt i64 %call3, 0
  br i1 %cmp19.not212, label %for.body.lr.ph, label %for.end

for.body.lr.ph:                                   ; preds = %if.end18
  %extra_of_tensor.i = getelementptr inbounds i8, ptr %1, i64 216
  %none.i = getelementptr inbounds i8, ptr %1, i64 24
  %view.i.i = getelementptr inbounds i8, ptr %1, i64 16
  %open_levels.i.i = getelementptr inbounds i8, ptr %1, i64 80
  %node_of_tensor.i.i = getelementptr inbounds i8, ptr %1, i64 200
  %counter_of_tensor.i.i = getelementptr inbounds i8, ptr %1, i64 208
  %version_of_view.i.i = getelementptr inbounds i8, ptr %1, i64 160
  %value_of_counter.i.i = getelementptr inbounds i8, ptr %1, i64 152
  %data_of_tensor.i = getelementptr inbounds i8, ptr %1, i64 184
  %large = getelementptr inbounds i8, ptr %0, i64 136
  br label %for.body

for.body:                                         ; preds = %for.body.lr.ph, %for.inc
  %has_numbers.0214 = phi i32 [ 0, %for.body.lr.ph ], [ %lor.ext, %for.inc ]
  %k.0213 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %for.inc ]
  %call20 = call ptr @PyTuple_GetItem(ptr noundef %2, i64 noundef %k.0213) #8
  %ob_type.i.i = getelementptr inbounds i8, ptr %call20, i64 8
  %13 = load ptr, ptr %ob_type.i.i, align 8
  %14 = load ptr, ptr %1, align 8
  %cmp.not.i = icmp eq ptr %13, %14
  br i1 %cmp.not.i, label %if.end.i142, label %cond.false

if.end.i142:                                      ; preds = %for.body
  %15 = load i64, ptr %extra_of_tensor.i, align 8
  %add.ptr.i143 = getelementptr inbounds i8, ptr %call20, i64 %15
  %16 = load ptr, ptr %add.ptr.i143, align 8
  %17 = load ptr, ptr %none.i, align 8
  %cmp1.i = icmp eq ptr %16, %17
  br i1 %cmp1.i, label %is_usual.exit, label %lor.lhs.false.i

lor.lhs.false.i:                                  ; preds = %if.end.i142
  %ob_type.i.i.i = getelementptr inbounds i8, ptr %16, i64 8
  %18 = load ptr, ptr %ob_type.i.i.i, align 8
  %19 = load ptr, ptr %view.i.i, align 8
  %cmp.not.i.i = icmp eq ptr %18, %19
  br i1 %cmp.not.i.i, label %lor.lhs.false.i.i, label %cond.false

lor.lhs.false.i.i:                                ; preds = %lor.lhs.false.i
  %20 = load ptr, ptr %open_levels.i.i, align 8
  %call1.i.i = call i32 @PyObject_IsTrue(ptr noundef %20) #8
  %cmp2.not.i.i = icmp eq i32 %call1.i.i, 0
  br i1 %cmp2.not.i.i, label %lor.lhs.false3.i.i, label %cond.false

lor.lhs.false3.i.i:                               ; preds = %lor.lhs.false.i.i
  %21 = load i64, ptr %node_of_tensor.i.i, align 8
  %add.ptr.i.i = getelementptr inbounds i8, ptr %call20, i64 %21
  %22 = load ptr, ptr %add.ptr.i.i, align 8
  %23 = load ptr, ptr %none.i, align 8
  %cmp4.i.i = icmp eq ptr %22, %23
  br i1 %cmp4.i.i, label %cond.false, label %is_fresh.exit.i

is_fresh.exit.i:                                  ; preds = %lor.lhs.false3.i.i
  %24 = load i64, ptr %counter_of_tensor.i.i, align 8
  %add.ptr5.i.i = getelementptr inbounds i8, ptr %call20, i64 %24
  %25 = load ptr, ptr %add.ptr5.i.i, align 8
  %26 = load i64, ptr %version_of_view.i.i, align 8
  %add.ptr6.i.i = getelementptr inbounds i8, ptr %16, i64 %26
  %27 = load ptr, ptr %add.ptr6.i.i, align 8
  %28 = load i64, ptr %value_of_counter.i.i, align 8
  %add.ptr7.i.i = getelementptr inbounds i8, ptr %25, i64 %28
  %29 = load ptr, ptr %add.ptr7.i.i, align 8
  %call8.i.i = call i32 @PyObject_RichCompareBool(ptr noundef %27, ptr noundef %29, i32 noundef 2) #8
  %cmp9.i.not.i = icmp eq i32 %call8.i.i, 1
  br i1 %cmp9.i.not.i, label %is_usual.exit, label %cond.false

is_usual.exit:                                    ; preds = %if.end.i142, %is_fresh.exit.i
  %30 = load i64, ptr %data_of_tensor.i, align 8
  %add.ptr3.i = getelementptr inbounds i8, ptr %call20, i64 %30
  %31 = load ptr, ptr %add.ptr3.i, align 8
  %ob_type.i14.i = getelementptr inbounds i8, ptr %31, i64 8
  %32 = load ptr, ptr %ob_type.i14.i, align 8
  %33 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx.i = getelementptr inbounds i8, ptr %33, i64 16
  %34 = load ptr, ptr %arrayidx.i, align 8
  %cmp5.i.not = icmp eq ptr %32, %34
  br i1 %cmp5.i.not, label %cond.true, label %cond.false

cond.true:                                        ; preds = %is_usual.exit
  %nd.i.i = getelementptr inbounds i8, ptr %31, i64 24
  %35 = load i32, ptr %nd.i.i, align 8
  %cmp6.i = icmp sgt i32 %35, 0
  br i1 %cmp6.i, label %for.body.lr.ph.i, label %size_of.exit

for.body.lr.ph.i:                                 ; preds = %cond.true
  %dimensions.i.i = getelementptr inbounds i8, ptr %31, i64 32
  %36 = load ptr, ptr %dimensions.i.i, align 8
  %wide.trip.count.i = zext nneg i32 %35 to i64
  br label %for.body.i

for.body.i:                                       ; preds = %for.body.i, %for.body.lr.ph.i
  %indvars.iv.i = phi i64 [ 0, %for.body.lr.ph.i ], [ %indvars.iv.next.i, %for.body.i ]
  %size.07.i = phi i64 [ 1, %for.body.lr.ph.i ], [ %mul.i, %for.body.i ]
  %arrayidx.i144 = getelementptr inbounds i64, ptr %36, i64 %indvars.iv.i
  %37 = load i64, ptr %arrayidx.i144, align 8
  %mul.i = mul nsw i64 %37, %size.07.i
  %indvars.iv.next.i = add nuw nsw i64 %indvars.iv.i, 1
  %exitcond.not.i = icmp eq i64 %indvars.iv.next.i, %wide.trip.count.i
  br i1 %exitcond.not.i, label %size_of.exit, label %for.body.i

size_of.exit:                                     ; preds = %for.body.i, %cond.true
  %size.0.lcssa.i = phi i64 [ 1, %cond.true ], [ %mul.i, %for.body.i ]
  %38 = load i64, ptr %large, align 8
  %cmp24.not = icmp slt i64 %size.0.lcssa.i, %38
  br i1 %cmp24.not, label %if.end32, label %cleanup36

cond.false:                                       ; preds = %lor.lhs.false.i, %lor.lhs.false.i.i, %lor.lhs.false3.i.i, %is_fresh.exit.i, %for.body, %is_usual.exit
  %cmp25 = icmp eq i64 %k.0213, 0
  %.pre = load ptr, ptr %none.i, align 8
  br i1 %cmp25, label %cleanup36.thread200, label %lor.lhs.false26

lor.lhs.false26:                                  ; preds = %cond.false
  %cmp.i146 = icmp eq ptr %.pre, %call20
  br i1 %cmp.i146, label %if.end32, label %lor.lhs.false.i147

lor.lhs.false.i147:                               ; preds = %lor.lhs.false26
  %39 = load ptr, ptr %ob_type.i.i, align 8
  %cmp.i.not.i = icmp eq ptr %39, @PyFloat_Type
  %cmp.i6.i.not = icmp eq ptr %39, @PyLong_Type
  %or.cond207 = or i1 %cmp.i.not.i, %cmp.i6.i.not
  br i1 %or.cond207, label %if.end32, label %cleanup36.thread200

if.end32:                                         ; preds = %lor.lhs.false26, %lor.lhs.false.i147, %size_of.exit
  %tobool33.not = icmp eq i32 %has_numbers.0214, 0
  br i1 %tobool33.not, label %lor.rhs, label %for.inc

lor.rhs:                                          ; preds = %if.end32
  %40 = load ptr, ptr %none.i, align 8
  %cmp.i150 = icmp eq ptr %40, %call20
  br i1 %cmp.i150, label %for.inc, label %lor.lhs.false.i151

lor.lhs.false.i151:                               ; preds = %lor.rhs
  %41 = load ptr, ptr %ob_type.i.i, align 8
  %cmp.i.not.i153 = icmp eq ptr %41, @PyFloat_Type
  %cmp.i6.i155 = icmp eq ptr %41, @PyLong_Type
  %spec.select = or i1 %cmp.i.not.i153, %cmp.i6.i155
  br label %for.inc

for.inc:                                          ; preds = %lor.lhs.false.i151, %lor.rhs, %if.end32
  %42 = phi i1 [ true, %if.end32 ], [ true, %lor.rhs ], [ %spec.select, %lor.lhs.false.i151 ]
  %lor.ext = zext i1 %42 to i32
  %inc = add nuw nsw i64 %k.0213, 1
  %exitcond.not = icmp eq i64 %inc, %call3
  br i1 %exitcond.not, label %for.end, label %for.body

cleanup36.thread200:                              ; preds = %lor.lhs.false.i147, %cond.false
  call void @Py_IncRef(ptr noundef %.pre) #8
  br label %cleanup85

cleanup36:                                        ; preds = %size_of.exit
  %43 = load ptr, ptr %none.i, align 8
  call void @Py_IncRef(ptr noundef %43) #8
  br label %cleanup85

for.end:                                          ; preds = %for.inc, %if.end18
  %has_numbers.0.lcssa = phi i1 [ false, %if.end18 ], [ %42, %for.inc ]
  %44 = load ptr, ptr %0, align 8
  %settings.i = getelementptr inbounds i8, ptr %0, i64 16
  %45 = load ptr, ptr %settings.i, align 8
  %cmp.i159 = icmp eq ptr %45, null
  %or.cond.i = or i1 %has_numbers.0.lcssa, %cmp.i159
  br i1 %or.cond.i, label %if.then.i, label %if.end.i160

if.then.i:                                        ; preds = %for.end
  br i1 %cmp.i159, label %cleanup24.sink.split.i, label %land.lhs.true.i

land.lhs.true.i:                                  ; preds = %if.then.i
  %46 = load i64, ptr %operands5, align 8
  %cmp5.i169 = icmp eq i64 %46, 1
  br i1 %cmp5.i169, label %if.then40, label %cleanup24.sink.split.i

if.end.i160:                                      ; preds = %for.end
  %ob_type.i.i.i161 = getelementptr inbounds i8, ptr %3, i64 8
  %47 = load ptr, ptr %ob_type.i.i.i161, align 8
  %cmp.i.i = icmp eq ptr %47, %45
  br i1 %cmp.i.i, label %if.then.i.i, label %if.end.i.i

if.then.i.i:                                      ; preds = %if.end.i160
  %call_of_settings.i.i = getelementptr inbounds i8, ptr %0, i64 48
  %48 = load i64, ptr %call_of_settings.i.i, align 8
  %add.ptr.i.i168 = getelementptr inbounds i8, ptr %3, i64 %48
  %49 = load ptr, ptr %add.ptr.i.i168, align 8
  br label %kind_of.exit.i

if.end.i.i:                                       ; preds = %if.end.i160
  %50 = load i64, ptr %operands5, align 8
  %cmp3.i.i = icmp slt i64 %50, 2
  br i1 %cmp3.i.i, label %if.then40, label %lor.lhs.false.i.i162

lor.lhs.false.i.i162:                             ; preds = %if.end.i.i
  %call4.i.i = call i64 @PyTuple_Size(ptr noundef %2) #8
  %51 = load i64, ptr %operands5, align 8
  %cmp6.not.i.i = icmp eq i64 %call4.i.i, %51
  br i1 %cmp6.not.i.i, label %if.end8.i.i, label %if.then40

if.end8.i.i:                                      ; preds = %lor.lhs.false.i.i162
  %call9.i.i = call ptr @PyTuple_GetItem(ptr noundef %2, i64 noundef 0) #8
  %spec_of_tensor.i.i = getelementptr inbounds i8, ptr %44, i64 192
  %52 = load i64, ptr %spec_of_tensor.i.i, align 8
  %add.ptr10.i.i = getelementptr inbounds i8, ptr %call9.i.i, i64 %52
  %53 = load ptr, ptr %add.ptr10.i.i, align 8
  %call11.i.i = call ptr @PyDict_Values(ptr noundef nonnull %3) #8
  %cmp12.i.i = icmp eq ptr %call11.i.i, null
  br i1 %cmp12.i.i, label %if.end85.i.i, label %cond.end20.i.i

cond.end20.i.i:                                   ; preds = %if.end8.i.i
  %call13.i.i = call i64 @PyList_Size(ptr noundef nonnull %call11.i.i) #8
  %54 = load i64, ptr %operands5, align 8
  %add.i.i = add nsw i64 %54, 2
  %mul.i.i = shl nsw i64 %call13.i.i, 1
  %add18.i.i = add nsw i64 %add.i.i, %mul.i.i
  %call19.i.i = call ptr @PyTuple_New(i64 noundef %add18.i.i) #8
  %cmp22.not.i.i = icmp eq ptr %call19.i.i, null
  br i1 %cmp22.not.i.i, label %if.end85.i.i, label %land.rhs.preheader.i.i

land.rhs.preheader.i.i:                           ; preds = %cond.end20.i.i
  %op24.i.i = getelementptr inbounds i8, ptr %0, i64 24
  %55 = load ptr, ptr %op24.i.i, align 8
  call void @Py_IncRef(ptr noundef %55) #8
  %call26.i.i = call i32 @PyTuple_SetItem(ptr noundef nonnull %call19.i.i, i64 noundef 0, ptr noundef %55) #8
  %none.i.i = getelementptr inbounds i8, ptr %44, i64 24
  %56 = load ptr, ptr %none.i.i, align 8
  call void @Py_IncRef(ptr noundef %56) #8
  %call28.i.i = call i32 @PyTuple_SetItem(ptr noundef nonnull %call19.i.i, i64 noundef 1, ptr noundef %56) #8
  br label %land.rhs.i.i

land.rhs.i.i:                                     ; preds = %land.end45.i.i, %land.rhs.preheader.i.i
  %k.0138.i.i = phi i64 [ %inc.i.i, %land.end45.i.i ], [ 0, %land.rhs.preheader.i.i ]
  %57 = load i64, ptr %operands5, align 8
  %cmp32.not.i.i = icmp slt i64 %k.0138.i.i, %57
  br i1 %cmp32.not.i.i, label %for.body.i.i, label %for.cond.cleanup.i.i

for.cond.cleanup.i.i:                             ; preds = %land.rhs.i.i
  %cmp50140.i.i = icmp sgt i64 %call13.i.i, 0
  br i1 %cmp50140.i.i, label %for.body55.lr.ph.i.i, label %if.then73.i.i

for.body55.lr.ph.i.i:                             ; preds = %for.cond.cleanup.i.i
  %add63.i.i = add nuw i64 %call13.i.i, 2
  br label %for.body55.i.i

for.body.i.i:                                     ; preds = %land.rhs.i.i
  %call34.i.i = call ptr @PyTuple_GetItem(ptr noundef %2, i64 noundef %k.0138.i.i) #8
  %58 = load i64, ptr %spec_of_tensor.i.i, align 8
  %add.ptr36.i.i = getelementptr inbounds i8, ptr %call34.i.i, i64 %58
  %59 = load ptr, ptr %add.ptr36.i.i, align 8
  %call37.i.i = call ptr @PyLong_FromVoidPtr(ptr noundef %59) #8
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
  %60 = load i64, ptr %operands5, align 8
  %add58.i.i = add nuw i64 %k46.0141.i.i, 2
  %add59.i.i = add i64 %add58.i.i, %60
  call void @Py_IncRef(ptr noundef %call56.i.i) #8
  %call61.i.i = call i32 @PyTuple_SetItem(ptr noundef nonnull %call19.i.i, i64 noundef %add59.i.i, ptr noundef %call56.i.i) #8
  %61 = load i64, ptr %operands5, align 8
  %add64.i.i = add i64 %add63.i.i, %k46.0141.i.i
  %add65.i.i = add i64 %add64.i.i, %61
  %ob_type.i128.i.i = getelementptr inbounds i8, ptr %call56.i.i, i64 8
  %62 = load ptr, ptr %ob_type.i128.i.i, align 8
  call void @Py_IncRef(ptr noundef %62) #8
  %call68.i.i = call i32 @PyTuple_SetItem(ptr noundef nonnull %call19.i.i, i64 noundef %add65.i.i, ptr noundef %62) #8
  %inc70.i.i = add nuw nsw i64 %k46.0141.i.i, 1
  %exitcond.not.i167 = icmp eq i64 %inc70.i.i, %call13.i.i
  br i1 %exitcond.not.i167, label %if.then73.i.i, label %for.body55.i.i

if.then73.i.i:                                    ; preds = %for.body55.i.i, %for.cond.cleanup.i.i
  %known_of_spec.i.i = getelementptr inbounds i8, ptr %0, i64 72
  %63 = load i64, ptr %known_of_spec.i.i, align 8
  %add.ptr74.i.i = getelementptr inbounds i8, ptr %53, i64 %63
  %64 = load ptr, ptr %add.ptr74.i.i, align 8
  %call75.i.i = call ptr @PyDict_GetItemWithError(ptr noundef %64, ptr noundef nonnull %call19.i.i) #8
  %cmp76.i.i = icmp eq ptr %call75.i.i, null
  br i1 %cmp76.i.i, label %land.lhs.true.i.i, label %if.end85.i.i

land.lhs.true.i.i:                                ; preds = %if.then73.i.i
  %call78.i.i = call ptr @PyErr_Occurred() #8
  %tobool79.not.i.i = icmp eq ptr %call78.i.i, null
  br i1 %tobool79.not.i.i, label %if.end85.i.i, label %land.lhs.true80.i.i

land.lhs.true80.i.i:                              ; preds = %land.lhs.true.i.i
  %65 = load ptr, ptr @PyExc_TypeError, align 8
  %call81.i.i = call i32 @PyErr_ExceptionMatches(ptr noundef %65) #8
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
  %retval.0.i.i = phi ptr [ %49, %if.then.i.i ], [ %kind.0.i.i, %if.end85.i.i ]
  %cmp6.i163 = icmp eq ptr %retval.0.i.i, null
  br i1 %cmp6.i163, label %if.then40, label %if.end8.i

if.end8.i:                                        ; preds = %kind_of.exit.i
  %function_of_kind.i = getelementptr inbounds i8, ptr %0, i64 56
  %66 = load i64, ptr %function_of_kind.i, align 8
  %add.ptr.i164 = getelementptr inbounds i8, ptr %retval.0.i.i, i64 %66
  %67 = load ptr, ptr %add.ptr.i164, align 8
  %none.i165 = getelementptr inbounds i8, ptr %44, i64 24
  %68 = load ptr, ptr %none.i165, align 8
  %cmp10.i.not = icmp eq ptr %67, %68
  br i1 %cmp10.i.not, label %if.end13.i, label %function_of.exit

if.end13.i:                                       ; preds = %if.end8.i
  %left_of_kind.i = getelementptr inbounds i8, ptr %0, i64 64
  %69 = load i64, ptr %left_of_kind.i, align 8
  %add.ptr9.i = getelementptr inbounds i8, ptr %retval.0.i.i, i64 %69
  %70 = load ptr, ptr %add.ptr9.i, align 8
  %call14.i = call i32 @PyObject_IsTrue(ptr noundef %70) #8
  %cmp15.i = icmp eq i32 %call14.i, 0
  br i1 %cmp15.i, label %cleanup24.sink.split.i, label %if.then40

cleanup24.sink.split.i:                           ; preds = %if.end13.i, %land.lhs.true.i, %if.then.i
  %kernel18.i = getelementptr inbounds i8, ptr %0, i64 32
  %71 = load ptr, ptr %kernel18.i, align 8
  br label %function_of.exit

function_of.exit:                                 ; preds = %if.end8.i, %cleanup24.sink.split.i
  %tobool1.i = phi i1 [ false, %cleanup24.sink.split.i ], [ true, %if.end8.i ]
  %retval.2.i = phi ptr [ %71, %cleanup24.sink.split.i ], [ %67, %if.end8.i ]
  %cmp39 = icmp eq ptr %retval.2.i, null
  br i1 %cmp39, label %if.then40, label %if.end47

if.then40:                                        ; preds = %if.end.i.i, %lor.lhs.false.i.i162, %if.end13.i, %kind_of.exit.i, %land.lhs.true.i, %function_of.exit
  %call41 = call ptr @PyErr_Occurred() #8
  %tobool42.not = icmp eq ptr %call41, null
  br i1 %tobool42.not, label %cond.false44, label %cleanup85

cond.false44:                                     ; preds = %if.then40
  %none45 = getelementptr inbounds i8, ptr %1, i64 24
  %72 = load ptr, ptr %none45, align 8
  call void @Py_IncRef(ptr noundef %72) #8
  br label %cleanup85

if.end47:                                         ; preds = %function_of.exit
  %call48 = call ptr @PyTuple_New(i64 noundef %call3) #8
  %cmp49 = icmp eq ptr %call48, null
  br i1 %cmp49, label %cleanup85, label %for.cond53.preheader

for.cond53.preheader:                             ; preds = %if.end47
  br i1 %cmp19.not212, label %for.body56.lr.ph, label %for.cond.cleanup55

for.body56.lr.ph:                                 ; preds = %for.cond53.preheader
  %none.i176 = getelementptr inbounds i8, ptr %1, i64 24
  %data_of_tensor63 = getelementptr inbounds i8, ptr %1, i64 184
  br label %for.body56

for.cond.cleanup55:                               ; preds = %cond.end65, %for.cond53.preheader
  call void @Py_IncRef(ptr noundef nonnull %retval.2.i) #8
  %73 = load i64, ptr %has_params, align 8
  %tobool.i170 = icmp eq i64 %73, 0
  %or.cond.i171 = or i1 %tobool1.i, %tobool.i170
  %cond.i = select i1 %or.cond.i171, ptr null, ptr %3
  %call.i172 = call ptr @PyObject_Call(ptr noundef nonnull %retval.2.i, ptr noundef nonnull %call48, ptr noundef %cond.i) #8
  call void @Py_DecRef(ptr noundef nonnull %retval.2.i) #8
  %cmp.i173 = icmp ne ptr %call.i172, null
  %or.cond5.i = and i1 %tobool1.i, %cmp.i173
  br i1 %or.cond5.i, label %if.end.i175, label %compute.exit

if.end.i175:                                      ; preds = %for.cond.cleanup55
  %call3.i = call ptr @PyTuple_GetItem(ptr noundef nonnull %call.i172, i64 noundef 0) #8
  call void @Py_IncRef(ptr noundef %call3.i) #8
  call void @Py_DecRef(ptr noundef nonnull %call.i172) #8
  br label %compute.exit

compute.exit:                                     ; preds = %for.cond.cleanup55, %if.end.i175
  %retval.0.i174 = phi ptr [ %call3.i, %if.end.i175 ], [ %call.i172, %for.cond.cleanup55 ]
  call void @Py_DecRef(ptr noundef nonnull %call48) #8
  %cmp74 = icmp eq ptr %retval.0.i174, null
  br i1 %cmp74, label %cleanup85, label %cond.false76

for.body56:                                       ; preds = %for.body56.lr.ph, %cond.end65
  %k52.0217 = phi i64 [ 0, %for.body56.lr.ph ], [ %inc70, %cond.end65 ]
  %call58 = call ptr @PyTuple_GetItem(ptr noundef %2, i64 noundef %k52.0217) #8
  %74 = load ptr, ptr %none.i176, align 8
  %cmp.i177 = icmp eq ptr %74, %call58
  br i1 %cmp.i177, label %cond.end65, label %lor.lhs.false.i178

lor.lhs.false.i178:                               ; preds = %for.body56
  %ob_type.i.i.i179 = getelementptr inbounds i8, ptr %call58, i64 8
  %75 = load ptr, ptr %ob_type.i.i.i179, align 8
  %cmp.i.not.i180 = icmp eq ptr %75, @PyFloat_Type
  %cmp.i6.i182.not = icmp eq ptr %75, @PyLong_Type
  %or.cond208 = or i1 %cmp.i.not.i180, %cmp.i6.i182.not
  br i1 %or.cond208, label %cond.end65, label %cond.false62

cond.false62:                                     ; preds = %lor.lhs.false.i178
  %76 = load i64, ptr %data_of_tensor63, align 8
  %add.ptr64 = getelementptr inbounds i8, ptr %call58, i64 %76
  %77 = load ptr, ptr %add.ptr64, align 8
  br label %cond.end65

cond.end65:                                       ; preds = %for.body56, %lor.lhs.false.i178, %cond.false62
  %cond66 = phi ptr [ %77, %cond.false62 ], [ %call58, %lor.lhs.false.i178 ], [ %call58, %for.body56 ]
  call void @Py_IncRef(ptr noundef %cond66) #8
  %call68 = call i32 @PyTuple_SetItem(ptr noundef nonnull %call48, i64 noundef %k52.0217, ptr noundef %cond66) #8
  %inc70 = add nuw nsw i64 %k52.0217, 1
  %exitcond218.not = icmp eq i64 %inc70, %call3
  br i1 %exitcond218.not, label %for.cond.cleanup55, label %for.body56

cond.false76:                                     ; preds = %compute.exit
  %call77 = call fastcc ptr @result_of(ptr noundef nonnull %0, ptr noundef %2, ptr noundef %3, ptr noundef nonnull %retval.0.i174)
  br label %cleanup85

cleanup85:                                        ; preds = %cleanup36, %if.end47, %compute.exit, %cond.false76, %cond.false44, %if.then40, %cleanup36.thread200, %are_normal.exit.thread, %if.then16
  %retval.6 = phi ptr [ %12, %if.then16 ], [ null, %are_normal.exit.thread ], [ %43, %cleanup36 ], [ %72, %cond.false44 ], [ null, %if.then40 ], [ null, %if.end47 ], [ %call77, %cond.false76 ], [ null, %compute.exit ], [ %.pre, %cleanup36.thread200 ]
  ret ptr %retval.6
}

declare i64 @PyTuple_Size(ptr noundef) local_unnamed_addr #3

declare i64 @PyDict_Size(ptr noundef) local_unnamed_addr #3

declare ptr @PyTuple_GetItem(ptr noundef, i64 noundef) local_unnamed_addr #3

declare ptr @PyTuple_New(i64 noundef) local_unnamed_addr #3

declare i32 @PyTuple_SetItem(ptr noundef, i64 noundef, ptr noundef) local_unnamed_addr #3

define internal fastcc ptr @result_of(ptr nocapture noundef readonly %op, ptr noundef %operands, ptr noundef %params, ptr noundef %out) unnamed_addr #0 {
entry:
  %read.i = alloca %struct.operand, align 8
  %out.addr = alloca ptr, align 8
  store ptr %out, ptr %out.addr, align 8
  %0 = load ptr, ptr %op, align 8
  %ob_type.i = getelementptr inbounds i8, ptr %out, i64 8
  %1 = load ptr, ptr %ob_type.i, align 8
  %2 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx = getelementptr inbounds i8, ptr %2, i64 16
  %3 = load ptr, ptr %arrayidx, align 8
  %cmp.not = icmp eq ptr %1, %3
  br i1 %cmp.not, label %if.end9, label %if.then

if.then:                                          ; preds = %entry
  %arrayidx2 = getelementptr inbounds i8, ptr %2, i64 80
  %4 = load ptr, ptr %arrayidx2, align 8
  %cmp.i.not.i = icmp eq ptr %1, %4
  br i1 %cmp.i.not.i, label %cond.true, label %PyObject_TypeCheck.exit

PyObject_TypeCheck.exit:                          ; preds = %if.then
  %call2.i = tail call i32 @PyType_IsSubtype(ptr noundef %1, ptr noundef %4) #8
  %tobool3.i.not = icmp eq i32 %call2.i, 0
  br i1 %tobool3.i.not, label %cond.false, label %PyObject_TypeCheck.exit.cond.true_crit_edge

PyObject_TypeCheck.exit.cond.true_crit_edge:      ; preds = %PyObject_TypeCheck.exit
  %.pre = load ptr, ptr @pullback_numpy, align 8
  br label %cond.true

cond.true:                                        ; preds = %PyObject_TypeCheck.exit.cond.true_crit_edge, %if.then
  %5 = phi ptr [ %.pre, %PyObject_TypeCheck.exit.cond.true_crit_edge ], [ %2, %if.then ]
  %arrayidx4 = getelementptr inbounds i8, ptr %5, i64 488
  %6 = load ptr, ptr %arrayidx4, align 8
  %call5 = tail call ptr %6(ptr noundef nonnull %out, ptr noundef null) #8
  br label %cond.end

cond.false:                                       ; preds = %PyObject_TypeCheck.exit
  %asarray = getelementptr inbounds i8, ptr %op, i64 40
  %7 = load ptr, ptr %asarray, align 8
  %call6 = call ptr @PyObject_Vectorcall(ptr noundef %7, ptr noundef nonnull %out.addr, i64 noundef 1, ptr noundef null) #8
  %.pre99 = load ptr, ptr %out.addr, align 8
  br label %cond.end

cond.end:                                         ; preds = %cond.false, %cond.true
  %8 = phi ptr [ %out, %cond.true ], [ %.pre99, %cond.false ]
  %cond = phi ptr [ %call5, %cond.true ], [ %call6, %cond.false ]
  call void @Py_DecRef(ptr noundef %8) #8
  %cmp7.not = icmp eq ptr %cond, null
  br i1 %cmp7.not, label %cleanup51, label %if.end

if.end:                                           ; preds = %cond.end
  store ptr %cond, ptr %out.addr, align 8
  br label %if.end9

if.end9:                                          ; preds = %if.end, %entry
  %9 = phi ptr [ %cond, %if.end ], [ %out, %entry ]
  %call10 = call fastcc ptr @spec_for(ptr noundef %0, ptr noundef nonnull %9)
  %cmp11 = icmp eq ptr %call10, null
  br i1 %cmp11, label %cond.end15, label %cond.false13

cond.false13:                                     ; preds = %if.end9
  %10 = load ptr, ptr %out.addr, align 8
  %call14 = call fastcc ptr @new_tensor(ptr noundef %0, ptr noundef %10, ptr noundef nonnull %call10)
  br label %cond.end15

cond.end15:                                       ; preds = %if.end9, %cond.false13
  %cond16 = phi ptr [ %call14, %cond.false13 ], [ null, %if.end9 ]
  %call17 = call i64 @PyTuple_Size(ptr noundef %operands) #8
  %cmp1896 = icmp sgt i64 %call17, 0
  br i1 %cmp1896, label %for.body.lr.ph, label %for.cond.cleanup

for.body.lr.ph:                                   ; preds = %cond.end15
  %is_differentiable_of_spec.i = getelementptr inbounds i8, ptr %op, i64 88
  br label %for.body

for.cond.cleanup:                                 ; preds = %is_wanted.exit, %cond.end15
  %wanted.0.lcssa = phi i64 [ 0, %cond.end15 ], [ %or, %is_wanted.exit ]
  %cmp22.not = icmp eq ptr %cond16, null
  br i1 %cmp22.not, label %if.end46, label %land.lhs.true

for.body:                                         ; preds = %for.body.lr.ph, %is_wanted.exit
  %k.098 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %is_wanted.exit ]
  %wanted.097 = phi i64 [ 0, %for.body.lr.ph ], [ %or, %is_wanted.exit ]
  %call19 = call ptr @PyTuple_GetItem(ptr noundef %operands, i64 noundef %k.098) #8
  %11 = load ptr, ptr %op, align 8
  %none.i.i = getelementptr inbounds i8, ptr %11, i64 24
  %12 = load ptr, ptr %none.i.i, align 8
  %cmp.i.i = icmp eq ptr %12, %call19
  br i1 %cmp.i.i, label %is_wanted.exit, label %lor.lhs.false.i.i

lor.lhs.false.i.i:                                ; preds = %for.body
  %ob_type.i.i.i.i = getelementptr inbounds i8, ptr %call19, i64 8
  %13 = load ptr, ptr %ob_type.i.i.i.i, align 8
  %cmp.i.not.i.i = icmp eq ptr %13, @PyFloat_Type
  %cmp.i6.i.not.i = icmp eq ptr %13, @PyLong_Type
  %or.cond.i = or i1 %cmp.i.not.i.i, %cmp.i6.i.not.i
  br i1 %or.cond.i, label %is_wanted.exit, label %if.end.i

if.end.i:                                         ; preds = %lor.lhs.false.i.i
  %node_of_tensor.i = getelementptr inbounds i8, ptr %11, i64 200
  %14 = load i64, ptr %node_of_tensor.i, align 8
  %add.ptr3.i = getelementptr inbounds i8, ptr %call19, i64 %14
  %15 = load ptr, ptr %add.ptr3.i, align 8
  %cmp.not.i = icmp eq ptr %15, %12
  br i1 %cmp.not.i, label %is_wanted.exit, label %land.rhs.i

land.rhs.i:                                       ; preds = %if.end.i
  %spec_of_tensor.i = getelementptr inbounds i8, ptr %11, i64 192
  %16 = load i64, ptr %spec_of_tensor.i, align 8
  %add.ptr.i = getelementptr inbounds i8, ptr %call19, i64 %16
  %17 = load ptr, ptr %add.ptr.i, align 8
  %18 = load i64, ptr %is_differentiable_of_spec.i, align 8
  %add.ptr5.i = getelementptr inbounds i8, ptr %17, i64 %18
  %19 = load ptr, ptr %add.ptr5.i, align 8
  %true_.i = getelementptr inbounds i8, ptr %11, i64 32
  %20 = load ptr, ptr %true_.i, align 8
  %cmp7.i = icmp eq ptr %19, %20
  %21 = zext i1 %cmp7.i to i64
  br label %is_wanted.exit

is_wanted.exit:                                   ; preds = %for.body, %lor.lhs.false.i.i, %if.end.i, %land.rhs.i
  %retval.0.i = phi i64 [ 0, %if.end.i ], [ %21, %land.rhs.i ], [ 0, %lor.lhs.false.i.i ], [ 0, %for.body ]
  %shl = shl nuw i64 %retval.0.i, %k.098
  %or = or i64 %shl, %wanted.097
  %inc = add nuw nsw i64 %k.098, 1
  %exitcond.not = icmp eq i64 %inc, %call17
  br i1 %exitcond.not, label %for.cond.cleanup, label %for.body

land.lhs.true:                                    ; preds = %for.cond.cleanup
  %node = getelementptr inbounds i8, ptr %op, i64 8
  %22 = load ptr, ptr %node, align 8
  %cmp24 = icmp ne ptr %22, null
  %cmp27 = icmp ne i64 %wanted.0.lcssa, 0
  %or.cond = select i1 %cmp24, i1 %cmp27, i1 false
  br i1 %or.cond, label %land.lhs.true29, label %if.end46

land.lhs.true29:                                  ; preds = %land.lhs.true
  %is_differentiable_of_spec = getelementptr inbounds i8, ptr %op, i64 88
  %23 = load i64, ptr %is_differentiable_of_spec, align 8
  %add.ptr = getelementptr inbounds i8, ptr %call10, i64 %23
  %24 = load ptr, ptr %add.ptr, align 8
  %true_ = getelementptr inbounds i8, ptr %0, i64 32
  %25 = load ptr, ptr %true_, align 8
  %cmp30 = icmp eq ptr %24, %25
  br i1 %cmp30, label %if.then32, label %if.end46

if.then32:                                        ; preds = %land.lhs.true29
  %call35 = call ptr @PyType_GenericAlloc(ptr noundef nonnull %22, i64 noundef 0) #8
  %cmp36 = icmp eq ptr %call35, null
  br i1 %cmp36, label %if.then41, label %lor.lhs.false

lor.lhs.false:                                    ; preds = %if.then32
  %26 = load ptr, ptr %out.addr, align 8
  %27 = load ptr, ptr %op, align 8
  %rest.i = getelementptr inbounds i8, ptr %op, i64 152
  %call.i = call i64 @PyTuple_Size(ptr noundef %operands) #8
  %call2.i82 = call ptr @PyTuple_New(i64 noundef %call.i) #8
  %cmp.i = icmp eq i64 %call.i, 1
  br i1 %cmp.i, label %if.then.i, label %if.else.i

if.then.i:                                        ; preds = %lor.lhs.false
  %call3.i = call ptr @PyTuple_GetItem(ptr noundef %operands, i64 noundef 0) #8
  %spec_of_tensor.i90 = getelementptr inbounds i8, ptr %27, i64 192
  %28 = load i64, ptr %spec_of_tensor.i90, align 8
  %add.ptr.i91 = getelementptr inbounds i8, ptr %call3.i, i64 %28
  %29 = load ptr, ptr %add.ptr.i91, align 8
  %single_of_spec.i = getelementptr inbounds i8, ptr %op, i64 80
  %30 = load i64, ptr %single_of_spec.i, align 8
  %add.ptr4.i = getelementptr inbounds i8, ptr %29, i64 %30
  %31 = load ptr, ptr %add.ptr4.i, align 8
  call void @Py_IncRef(ptr noundef %31) #8
  br label %if.end.i83

if.else.i:                                        ; preds = %lor.lhs.false
  %call6.i = call ptr @PyTuple_New(i64 noundef %call.i) #8
  br label %if.end.i83

if.end.i83:                                       ; preds = %if.else.i, %if.then.i
  %specs.0.i = phi ptr [ %31, %if.then.i ], [ %call6.i, %if.else.i ]
  %next_of_node.i = getelementptr inbounds i8, ptr %27, i64 232
  %32 = load i64, ptr %next_of_node.i, align 8
  %add.ptr7.i = getelementptr inbounds i8, ptr %call35, i64 %32
  store ptr %call2.i82, ptr %add.ptr7.i, align 8
  %specs_of_node.i = getelementptr inbounds i8, ptr %op, i64 104
  %33 = load i64, ptr %specs_of_node.i, align 8
  %add.ptr8.i = getelementptr inbounds i8, ptr %call35, i64 %33
  store ptr %specs.0.i, ptr %add.ptr8.i, align 8
  %cmp9.i = icmp eq ptr %call2.i82, null
  %cmp10.i = icmp eq ptr %specs.0.i, null
  %or.cond.i84 = select i1 %cmp9.i, i1 true, i1 %cmp10.i
  br i1 %or.cond.i84, label %if.then41, label %if.end12.i

if.end12.i:                                       ; preds = %if.end.i83
  call void @Py_IncRef(ptr noundef nonnull %call10) #8
  %spec_of_node.i = getelementptr inbounds i8, ptr %27, i64 256
  %34 = load i64, ptr %spec_of_node.i, align 8
  %add.ptr14.i = getelementptr inbounds i8, ptr %call35, i64 %34
  store ptr %call10, ptr %add.ptr14.i, align 8
  %none.i = getelementptr inbounds i8, ptr %27, i64 24
  %35 = load ptr, ptr %none.i, align 8
  call void @Py_IncRef(ptr noundef %35) #8
  %rare_of_node.i = getelementptr inbounds i8, ptr %27, i64 240
  %36 = load i64, ptr %rare_of_node.i, align 8
  %add.ptr16.i = getelementptr inbounds i8, ptr %call35, i64 %36
  store ptr %35, ptr %add.ptr16.i, align 8
  call void @Py_IncRef(ptr noundef %params) #8
  %params_of_node.i = getelementptr inbounds i8, ptr %op, i64 96
  %37 = load i64, ptr %params_of_node.i, align 8
  %add.ptr18.i = getelementptr inbounds i8, ptr %call35, i64 %37
  store ptr %params, ptr %add.ptr18.i, align 8
  %out_data.i = getelementptr inbounds i8, ptr %op, i64 112
  %38 = load i64, ptr %out_data.i, align 8
  %cmp19.not.i = icmp eq i64 %38, 0
  br i1 %cmp19.not.i, label %if.end24.i, label %if.then20.i

if.then20.i:                                      ; preds = %if.end12.i
  %out_readers.i = getelementptr inbounds i8, ptr %op, i64 120
  %39 = load i64, ptr %out_readers.i, align 8
  %and.i = and i64 %39, %wanted.0.lcssa
  %tobool.not.i = icmp eq i64 %and.i, 0
  br i1 %tobool.not.i, label %cond.false.i, label %cond.end.i

cond.false.i:                                     ; preds = %if.then20.i
  %not_saved.i = getelementptr inbounds i8, ptr %27, i64 48
  %40 = load ptr, ptr %not_saved.i, align 8
  br label %cond.end.i

cond.end.i:                                       ; preds = %cond.false.i, %if.then20.i
  %cond.i = phi ptr [ %40, %cond.false.i ], [ %26, %if.then20.i ]
  call void @Py_IncRef(ptr noundef %cond.i) #8
  %41 = load i64, ptr %out_data.i, align 8
  %add.ptr23.i = getelementptr inbounds i8, ptr %call35, i64 %41
  store ptr %cond.i, ptr %add.ptr23.i, align 8
  br label %if.end24.i

if.end24.i:                                       ; preds = %cond.end.i, %if.end12.i
  %cmp25.not155.i = icmp sgt i64 %call.i, 0
  br i1 %cmp25.not155.i, label %for.body.lr.ph.i, label %fill.exit

for.body.lr.ph.i:                                 ; preds = %if.end24.i
  %saved.i = getelementptr inbounds i8, ptr %read.i, i64 8
  %spec_of_tensor51.i = getelementptr inbounds i8, ptr %27, i64 192
  %data_of_tensor.i = getelementptr inbounds i8, ptr %27, i64 184
  %operands64.i = getelementptr inbounds i8, ptr %op, i64 144
  br label %for.body.i

for.body.i:                                       ; preds = %if.end74.i, %for.body.lr.ph.i
  %k.0156.i = phi i64 [ 0, %for.body.lr.ph.i ], [ %inc.i, %if.end74.i ]
  %call26.i = call ptr @PyTuple_GetItem(ptr noundef %operands, i64 noundef %k.0156.i) #8
  call void @llvm.lifetime.start.p0(i64 16, ptr nonnull %read.i) #8
  %42 = load ptr, ptr %none.i, align 8
  %cmp.i.i85 = icmp eq ptr %42, %call26.i
  br i1 %cmp.i.i85, label %is_number.exit.thread.i, label %lor.lhs.false.i.i86

lor.lhs.false.i.i86:                              ; preds = %for.body.i
  %ob_type.i.i.i.i87 = getelementptr inbounds i8, ptr %call26.i, i64 8
  %43 = load ptr, ptr %ob_type.i.i.i.i87, align 8
  %.fr.i = freeze ptr %43
  %cmp.i.not.i.i88 = icmp eq ptr %.fr.i, @PyFloat_Type
  br i1 %cmp.i.not.i.i88, label %is_number.exit.thread.i, label %is_number.exit.i

is_number.exit.i:                                 ; preds = %lor.lhs.false.i.i86
  %cmp.i6.i.not.i89 = icmp eq ptr %.fr.i, @PyLong_Type
  %spec.select.i = select i1 %cmp.i6.i.not.i89, ptr null, ptr %call26.i
  br label %is_number.exit.thread.i

is_number.exit.thread.i:                          ; preds = %is_number.exit.i, %lor.lhs.false.i.i86, %for.body.i
  %44 = phi ptr [ null, %lor.lhs.false.i.i86 ], [ null, %for.body.i ], [ %spec.select.i, %is_number.exit.i ]
  store ptr %44, ptr %read.i, align 8
  store ptr %call26.i, ptr %saved.i, align 8
  %45 = shl nuw i64 1, %k.0156.i
  %46 = and i64 %45, %wanted.0.lcssa
  %tobool34.not.i = icmp eq i64 %46, 0
  %cond38.i = select i1 %tobool34.not.i, ptr null, ptr %call26.i
  %call39.i = call fastcc ptr @node_behind(ptr noundef nonnull %27, ptr noundef %cond38.i)
  %cmp40.i = icmp eq ptr %call39.i, null
  br i1 %cmp40.i, label %cleanup.i, label %if.end42.i

if.end42.i:                                       ; preds = %is_number.exit.thread.i
  %call43.i = call i32 @PyTuple_SetItem(ptr noundef %call2.i82, i64 noundef %k.0156.i, ptr noundef nonnull %call39.i) #8
  br i1 %cmp.i, label %if.end57.i, label %if.then45.i

if.then45.i:                                      ; preds = %if.end42.i
  %cmp47.i = icmp eq ptr %44, null
  br i1 %cmp47.i, label %cond.end53.i, label %cond.false50.i

cond.false50.i:                                   ; preds = %if.then45.i
  %47 = load i64, ptr %spec_of_tensor51.i, align 8
  %add.ptr52.i = getelementptr inbounds i8, ptr %call26.i, i64 %47
  br label %cond.end53.i

cond.end53.i:                                     ; preds = %cond.false50.i, %if.then45.i
  %cond54.in.i = phi ptr [ %add.ptr52.i, %cond.false50.i ], [ %none.i, %if.then45.i ]
  %cond54.i = load ptr, ptr %cond54.in.i, align 8
  call void @Py_IncRef(ptr noundef %cond54.i) #8
  %call56.i = call i32 @PyTuple_SetItem(ptr noundef %specs.0.i, i64 noundef %k.0156.i, ptr noundef %cond54.i) #8
  br label %if.end57.i

if.end57.i:                                       ; preds = %cond.end53.i, %if.end42.i
  %cmp59.not.i = icmp eq ptr %44, null
  br i1 %cmp59.not.i, label %if.end63.i, label %if.then60.i

if.then60.i:                                      ; preds = %if.end57.i
  %48 = load i64, ptr %data_of_tensor.i, align 8
  %add.ptr61.i = getelementptr inbounds i8, ptr %call26.i, i64 %48
  %49 = load ptr, ptr %add.ptr61.i, align 8
  store ptr %49, ptr %saved.i, align 8
  br label %if.end63.i

if.end63.i:                                       ; preds = %if.then60.i, %if.end57.i
  %50 = load i64, ptr %operands64.i, align 8
  %cmp65.i = icmp slt i64 %k.0156.i, %50
  br i1 %cmp65.i, label %land.lhs.true.i, label %if.end74.i

land.lhs.true.i:                                  ; preds = %if.end63.i
  %arrayidx.i = getelementptr inbounds %struct.slots, ptr %rest.i, i64 %k.0156.i
  %51 = load i64, ptr %arrayidx.i, align 8
  %epoch.i = getelementptr inbounds i8, ptr %arrayidx.i, i64 8
  %52 = load i64, ptr %epoch.i, align 8
  %readers.i = getelementptr inbounds i8, ptr %arrayidx.i, i64 16
  %53 = load i64, ptr %readers.i, align 8
  %and68.i = and i64 %53, %wanted.0.lcssa
  %cmp69.i = icmp ne i64 %and68.i, 0
  %conv.i = zext i1 %cmp69.i to i32
  %call70.i = call fastcc i32 @save(ptr noundef nonnull %27, ptr noundef nonnull %call35, i64 noundef %51, i64 noundef %52, ptr noundef nonnull %read.i, i32 noundef %conv.i)
  %cmp71.i = icmp slt i32 %call70.i, 0
  br i1 %cmp71.i, label %cleanup.i, label %if.end74.i

if.end74.i:                                       ; preds = %land.lhs.true.i, %if.end63.i
  call void @llvm.lifetime.end.p0(i64 16, ptr nonnull %read.i) #8
  %inc.i = add nuw nsw i64 %k.0156.i, 1
  %exitcond.not.i = icmp eq i64 %inc.i, %call.i
  br i1 %exitcond.not.i, label %fill.exit, label %for.body.i

cleanup.i:                                        ; preds = %land.lhs.true.i, %is_number.exit.thread.i
  call void @llvm.lifetime.end.p0(i64 16, ptr nonnull %read.i) #8
  br label %if.then41

fill.exit:                                        ; preds = %if.end74.i, %if.end24.i
  %clock.i = getelementptr inbounds i8, ptr %27, i64 88
  %54 = load ptr, ptr %clock.i, align 8
  %call79.i = call ptr @PyObject_CallNoArgs(ptr noundef %54) #8
  %seq_of_node.i = getelementptr inbounds i8, ptr %27, i64 248
  %55 = load i64, ptr %seq_of_node.i, align 8
  %add.ptr80.i = getelementptr inbounds i8, ptr %call35, i64 %55
  store ptr %call79.i, ptr %add.ptr80.i, align 8
  %cmp81.i = icmp eq ptr %call79.i, null
  br i1 %cmp81.i, label %if.then41, label %if.else

if.then41:                                        ; preds = %if.end.i83, %cleanup.i, %fill.exit, %if.then32
  call void @Py_DecRef(ptr noundef %call35) #8
  call void @Py_DecRef(ptr noundef nonnull %cond16) #8
  br label %if.end46

if.else:                                          ; preds = %fill.exit
  %node_of_tensor = getelementptr inbounds i8, ptr %0, i64 200
  %56 = load i64, ptr %node_of_tensor, align 8
  %add.ptr42 = getelementptr inbounds i8, ptr %cond16, i64 %56
  %57 = load ptr, ptr %add.ptr42, align 8
  store ptr %call35, ptr %add.ptr42, align 8
  call void @Py_DecRef(ptr noundef %57) #8
  br label %if.end46

if.end46:                                         ; preds = %if.then41, %if.else, %land.lhs.true29, %land.lhs.true, %for.cond.cleanup
  %result.1 = phi ptr [ %cond16, %land.lhs.true29 ], [ %cond16, %land.lhs.true ], [ null, %for.cond.cleanup ], [ null, %if.then41 ], [ %cond16, %if.else ]
  call void @Py_DecRef(ptr noundef %call10) #8
  %58 = load ptr, ptr %out.addr, align 8
  call void @Py_DecRef(ptr noundef %58) #8
  br label %cleanup51

cleanup51:                                        ; preds = %cond.end, %if.end46
  %retval.1 = phi ptr [ %result.1, %if.end46 ], [ null, %cond.end ]
  ret ptr %retval.1
}

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
  %none.i = getelementptr inbounds i8, ptr %.pre, i64 24
  %4 = load ptr, ptr %none.i, align 8
  br label %for.body

if.then:                                          ; preds = %lor.lhs.false, %cond.end
  %none = getelementptr inbounds i8, ptr %.pre, i64 24
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
  %spec_of_tensor = getelementptr inbounds i8, ptr %16, i64 192
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
  %none32 = getelementptr inbounds i8, ptr %21, i64 24
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
  %call1.i.i = tail call i32 @PyObject_IsTrue(ptr noundef %7) #8
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
  %call8.i.i = tail call i32 @PyObject_RichCompareBool(ptr noundef %14, ptr noundef %16, i32 noundef 2) #8
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
  %and.i = and i32 %22, 256
  %tobool.not.i = icmp eq i32 %and.i, 0
  br i1 %tobool.not.i, label %land.end, label %if.end.i5

if.end.i5:                                        ; preds = %land.rhs
  %nd.i.i = getelementptr inbounds i8, ptr %18, i64 24
  %23 = load i32, ptr %nd.i.i, align 8
  %strides.i.i = getelementptr inbounds i8, ptr %18, i64 40
  %and.i.i = and i32 %22, 1
  %tobool3.not.i = icmp eq i32 %and.i.i, 0
  %cmp53.i = icmp sgt i32 %23, 0
  %or.cond5154.i = and i1 %tobool3.not.i, %cmp53.i
  br i1 %or.cond5154.i, label %for.body.lr.ph.i, label %land.end

for.body.lr.ph.i:                                 ; preds = %if.end.i5
  %dimensions.i.i = getelementptr inbounds i8, ptr %18, i64 32
  %24 = load ptr, ptr %dimensions.i.i, align 8
  %25 = zext nneg i32 %23 to i64
  br label %for.body.i

for.body.i:                                       ; preds = %cleanup.i, %for.body.lr.ph.i
  %indvars.iv.i = phi i64 [ %25, %for.body.lr.ph.i ], [ %indvars.iv.next.i, %cleanup.i ]
  %inner.055.i = phi i64 [ 0, %for.body.lr.ph.i ], [ %inner.1.i, %cleanup.i ]
  %indvars.iv.next.i = add nsw i64 %indvars.iv.i, -1
  %arrayidx.i6 = getelementptr inbounds i64, ptr %24, i64 %indvars.iv.next.i
  %26 = load i64, ptr %arrayidx.i6, align 8
  %cmp5.i7 = icmp eq i64 %26, 1
  br i1 %cmp5.i7, label %if.end13.thread.i, label %cond.end.i

cond.end.i:                                       ; preds = %for.body.i
  %27 = load ptr, ptr %strides.i.i, align 8
  %arrayidx8.i = getelementptr inbounds i64, ptr %27, i64 %indvars.iv.next.i
  %28 = load i64, ptr %arrayidx8.i, align 8
  %.fr.i = freeze i64 %28
  %cmp9.i = icmp slt i64 %.fr.i, 0
  br i1 %cmp9.i, label %land.end, label %lor.lhs.false.i8

lor.lhs.false.i8:                                 ; preds = %cond.end.i
  %cmp10.not.i = icmp ne i64 %.fr.i, 0
  %cmp11.i = icmp slt i64 %.fr.i, %inner.055.i
  %or.cond.i = select i1 %cmp10.not.i, i1 %cmp11.i, i1 false
  br i1 %or.cond.i, label %land.end, label %if.end13.i

if.end13.i:                                       ; preds = %lor.lhs.false.i8
  %cmp14.i = icmp eq i64 %.fr.i, 0
  br i1 %cmp14.i, label %if.end13.thread.i, label %cleanup.i

if.end13.thread.i:                                ; preds = %if.end13.i, %for.body.i
  br label %cleanup.i

cleanup.i:                                        ; preds = %if.end13.thread.i, %if.end13.i
  %inner.1.i = phi i64 [ %inner.055.i, %if.end13.thread.i ], [ %.fr.i, %if.end13.i ]
  %cmp.i = icmp ugt i64 %indvars.iv.i, 1
  br i1 %cmp.i, label %for.body.i, label %land.end

land.end:                                         ; preds = %cleanup.i, %lor.lhs.false.i8, %cond.end.i, %if.end.i5, %land.rhs, %lor.lhs.false.i, %lor.lhs.false.i.i, %lor.lhs.false3.i.i, %is_fresh.exit.i, %entry, %is_usual.exit
  %land.ext = phi i32 [ 0, %is_usual.exit ], [ 0, %entry ], [ 0, %is_fresh.exit.i ], [ 0, %lor.lhs.false3.i.i ], [ 0, %lor.lhs.false.i.i ], [ 0, %lor.lhs.false.i ], [ 0, %land.rhs ], [ 1, %if.end.i5 ], [ 0, %lor.lhs.false.i8 ], [ 0, %cond.end.i ], [ 1, %cleanup.i ]
  ret i32 %land.ext
}

declare double @PyFloat_AsDouble(ptr noundef) local_unnamed_addr #3

declare i32 @PyObject_Not(ptr noundef) local_unnamed_addr #3

declare void @llvm.memcpy.p0.p0.i64(ptr noalias nocapture writeonly, ptr noalias nocapture readonly, i64, i1 immarg) #5

define internal fastcc ptr @recorded(ptr nocapture noundef readonly %op, ptr noundef %kind, ptr noundef %spec, ptr nocapture noundef readonly %read, ptr noundef %out) unnamed_addr #0 {
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
  tail call void @Py_DecRef(ptr noundef %8) #8
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
  %next_of_node.i = getelementptr inbounds i8, ptr %11, i64 232
  %19 = load i64, ptr %next_of_node.i, align 8
  %add.ptr.i = getelementptr inbounds i8, ptr %call26.i, i64 %19
  store ptr %call.i, ptr %add.ptr.i, align 8
  tail call void @Py_IncRef(ptr noundef %spec) #8
  %spec_of_node.i = getelementptr inbounds i8, ptr %11, i64 256
  %20 = load i64, ptr %spec_of_node.i, align 8
  %add.ptr32.i = getelementptr inbounds i8, ptr %call26.i, i64 %20
  store ptr %spec, ptr %add.ptr32.i, align 8
  %21 = load ptr, ptr %none.i, align 8
  tail call void @Py_IncRef(ptr noundef %21) #8
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
  %clock.i = getelementptr inbounds i8, ptr %11, i64 88
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
  %seq_of_node.i = getelementptr inbounds i8, ptr %11, i64 248
  %35 = load i64, ptr %seq_of_node.i, align 8
  %add.ptr73.i = getelementptr inbounds i8, ptr %call26.i, i64 %35
  store ptr %call66.i, ptr %add.ptr73.i, align 8
  %node_of_tensor = getelementptr inbounds i8, ptr %0, i64 200
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
  tail call void @Py_IncRef(ptr noundef nonnull %cond) #8
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
  %accumulator_of = getelementptr inbounds i8, ptr %known, i64 96
  %7 = load ptr, ptr %accumulator_of, align 8
  %call13 = call ptr @PyObject_Vectorcall(ptr noundef %7, ptr noundef nonnull %tensor.addr, i64 noundef 1, ptr noundef null) #8
  br label %cleanup15

cleanup15:                                        ; preds = %if.end12, %if.then6, %if.then
  %retval.2 = phi ptr [ %cond, %if.then ], [ %call13, %if.end12 ], [ %call7, %if.then6 ]
  ret ptr %retval.2
}

define internal fastcc ptr @new_tensor(ptr nocapture noundef readonly %known, ptr noundef %out, ptr noundef %spec) unnamed_addr #0 {
entry:
  %0 = load ptr, ptr %known, align 8
  %call = tail call ptr @PyType_GenericAlloc(ptr noundef %0, i64 noundef 0) #8
  %cmp = icmp eq ptr %call, null
  br i1 %cmp, label %cleanup, label %if.end

if.end:                                           ; preds = %entry
  tail call void @Py_IncRef(ptr noundef %out) #8
  %data_of_tensor = getelementptr inbounds i8, ptr %known, i64 184
  %1 = load i64, ptr %data_of_tensor, align 8
  %add.ptr = getelementptr inbounds i8, ptr %call, i64 %1
  store ptr %out, ptr %add.ptr, align 8
  tail call void @Py_IncRef(ptr noundef %spec) #8
  %spec_of_tensor = getelementptr inbounds i8, ptr %known, i64 192
  %2 = load i64, ptr %spec_of_tensor, align 8
  %add.ptr4 = getelementptr inbounds i8, ptr %call, i64 %2
  store ptr %spec, ptr %add.ptr4, align 8
  %none = getelementptr inbounds i8, ptr %known, i64 24
  %3 = load ptr, ptr %none, align 8
  tail call void @Py_IncRef(ptr noundef %3) #8
  %node_of_tensor = getelementptr inbounds i8, ptr %known, i64 200
  %4 = load i64, ptr %node_of_tensor, align 8
  %add.ptr6 = getelementptr inbounds i8, ptr %call, i64 %4
  store ptr %3, ptr %add.ptr6, align 8
  %5 = load ptr, ptr %none, align 8
  tail call void @Py_IncRef(ptr noundef %5) #8
  %counter_of_tensor = getelementptr inbounds i8, ptr %known, i64 208
  %6 = load i64, ptr %counter_of_tensor, align 8
  %add.ptr9 = getelementptr inbounds i8, ptr %call, i64 %6
  store ptr %5, ptr %add.ptr9, align 8
  %7 = load ptr, ptr %none, align 8
  tail call void @Py_IncRef(ptr noundef %7) #8
  %extra_of_tensor = getelementptr inbounds i8, ptr %known, i64 216
  %8 = load i64, ptr %extra_of_tensor, align 8
  %add.ptr12 = getelementptr inbounds i8, ptr %call, i64 %8
  store ptr %7, ptr %add.ptr12, align 8
  %9 = load ptr, ptr %none, align 8
  tail call void @Py_IncRef(ptr noundef %9) #8
  %meta_of_tensor = getelementptr inbounds i8, ptr %known, i64 224
  %10 = load i64, ptr %meta_of_tensor, align 8
  %add.ptr15 = getelementptr inbounds i8, ptr %call, i64 %10
  store ptr %9, ptr %add.ptr15, align 8
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
  call void @llvm.lifetime.start.p0(i64 16, ptr nonnull %given) #8
  store ptr %6, ptr %given, align 8
  %arrayinit.element = getelementptr inbounds i8, ptr %given, i64 8
  %saved = getelementptr inbounds i8, ptr %read, i64 8
  %7 = load ptr, ptr %saved, align 8
  store ptr %7, ptr %arrayinit.element, align 8
  %hold = getelementptr inbounds i8, ptr %known, i64 56
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
  %none27 = getelementptr inbounds i8, ptr %known, i64 24
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
  %spec_for = getelementptr inbounds i8, ptr %known, i64 104
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
