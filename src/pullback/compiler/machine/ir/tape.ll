; Made from c/tape.c by `make native`.

%struct._typeobject = type opaque
%struct.nodes = type { [2 x ptr] }
%struct.operands = type { [2 x %struct.operand] }
%struct.operand = type { ptr, ptr, ptr, i64, double, float }
%struct.loop = type { [3 x ptr], [3 x i64] }
%struct.slots = type { i64, i64, i64 }

@pullback_numpy = external local_unnamed_addr global ptr, align 8
@PyFloat_Type = external global %struct._typeobject, align 1
@PyLong_Type = external global %struct._typeobject, align 1

define ptr @NAME_call(ptr nocapture noundef readonly %self, ptr nocapture noundef readonly %args, i64 noundef %count) local_unnamed_addr #0 {
entry:
  %found.i = alloca %struct.nodes, align 8
  %modes.i = alloca ptr, align 8
  %given = alloca %struct.operands, align 8
  %size = alloca i64, align 8
  %all = alloca %struct.loop, align 8
  %data.i = getelementptr inbounds i8, ptr %self, i64 16
  %0 = load ptr, ptr %data.i, align 8
  %1 = load ptr, ptr %0, align 8
  call void @llvm.lifetime.start.p0(i64 96, ptr nonnull %given) #6
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(96) %given, i8 0, i64 96, i1 false)
  %operands = getelementptr inbounds i8, ptr %0, i64 16
  %2 = load i64, ptr %operands, align 8
  %cmp = icmp eq i64 %2, %count
  br i1 %cmp, label %cond.true, label %if.then10

cond.true:                                        ; preds = %entry
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %modes.i) #6
  store ptr null, ptr %modes.i, align 8
  %modes1.i = getelementptr inbounds i8, ptr %1, i64 64
  %3 = load ptr, ptr %modes1.i, align 8
  %call.i = call i32 @PyContextVar_Get(ptr noundef %3, ptr noundef null, ptr noundef nonnull %modes.i) #6
  %cmp.i = icmp slt i32 %call.i, 0
  br i1 %cmp.i, label %cond.end.thread175, label %cond.end

cond.end.thread175:                               ; preds = %cond.true
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %modes.i) #6
  br label %cleanup110

cond.end:                                         ; preds = %cond.true
  %4 = load ptr, ptr %modes.i, align 8
  call void @Py_DecRef(ptr noundef %4) #6
  %5 = load ptr, ptr %modes.i, align 8
  %switch_.i = getelementptr inbounds i8, ptr %1, i64 72
  %6 = load ptr, ptr %switch_.i, align 8
  %normal_of_switch.i = getelementptr inbounds i8, ptr %1, i64 120
  %7 = load i64, ptr %normal_of_switch.i, align 8
  %add.ptr.i = getelementptr inbounds i8, ptr %6, i64 %7
  %8 = load ptr, ptr %add.ptr.i, align 8
  %cmp2.i.not = icmp eq ptr %5, %8
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %modes.i) #6
  br i1 %cmp2.i.not, label %cond.true4, label %if.then10

cond.true4:                                       ; preds = %cond.end
  %9 = load ptr, ptr %0, align 8
  %10 = load ptr, ptr %args, align 8
  %call.i151 = call fastcc i32 @is_plain(ptr noundef %9, ptr noundef %10)
  %tobool.not.i = icmp eq i32 %call.i151, 0
  %cond.i = xor i32 %call.i151, 1
  br i1 %tobool.not.i, label %land.lhs.true.i, label %if.end.i152

land.lhs.true.i:                                  ; preds = %cond.true4
  %11 = load i64, ptr %operands, align 8
  %cmp2.i154 = icmp eq i64 %11, 1
  br i1 %cmp2.i154, label %if.then10, label %lor.lhs.false.i

lor.lhs.false.i:                                  ; preds = %land.lhs.true.i
  %arrayidx3.i = getelementptr inbounds i8, ptr %args, i64 8
  %12 = load ptr, ptr %arrayidx3.i, align 8
  %call4.i = call fastcc i32 @is_plain(ptr noundef %9, ptr noundef %12)
  %tobool5.not.i = icmp eq i32 %call4.i, 0
  br i1 %tobool5.not.i, label %if.then10, label %if.end.i152

if.end.i152:                                      ; preds = %lor.lhs.false.i, %cond.true4
  %idxprom.i = zext nneg i32 %cond.i to i64
  %arrayidx6.i = getelementptr inbounds ptr, ptr %args, i64 %idxprom.i
  %13 = load ptr, ptr %arrayidx6.i, align 8
  %spec_of_tensor.i = getelementptr inbounds i8, ptr %9, i64 184
  %14 = load i64, ptr %spec_of_tensor.i, align 8
  %add.ptr.i153 = getelementptr inbounds i8, ptr %13, i64 %14
  %15 = load ptr, ptr %add.ptr.i153, align 8
  %data_of_tensor.i = getelementptr inbounds i8, ptr %9, i64 176
  %16 = load i64, ptr %data_of_tensor.i, align 8
  %add.ptr7.i = getelementptr inbounds i8, ptr %13, i64 %16
  %17 = load ptr, ptr %add.ptr7.i, align 8
  %descr.i.i = getelementptr inbounds i8, ptr %17, i64 56
  %18 = load ptr, ptr %descr.i.i, align 8
  %type_num.i = getelementptr inbounds i8, ptr %18, i64 28
  %19 = load i32, ptr %type_num.i, align 4
  %is_plain_of_spec.i = getelementptr inbounds i8, ptr %9, i64 160
  %20 = load i64, ptr %is_plain_of_spec.i, align 8
  %add.ptr9.i = getelementptr inbounds i8, ptr %15, i64 %20
  %21 = load ptr, ptr %add.ptr9.i, align 8
  %true_.i = getelementptr inbounds i8, ptr %9, i64 32
  %22 = load ptr, ptr %true_.i, align 8
  %cmp10.not.i = icmp ne ptr %21, %22
  %23 = add i32 %19, -13
  %or.cond.i = icmp ult i32 %23, -2
  %or.cond110.i = select i1 %cmp10.not.i, i1 true, i1 %or.cond.i
  br i1 %or.cond110.i, label %if.then10, label %lor.lhs.false15.i

lor.lhs.false15.i:                                ; preds = %if.end.i152
  %byteorder.i = getelementptr inbounds i8, ptr %18, i64 26
  %24 = load i8, ptr %byteorder.i, align 2
  %cmp17.not.i = icmp eq i8 %24, 62
  br i1 %cmp17.not.i, label %if.then10, label %lor.lhs.false19.i

lor.lhs.false19.i:                                ; preds = %lor.lhs.false15.i
  %nd.i.i.i = getelementptr inbounds i8, ptr %17, i64 24
  %25 = load i32, ptr %nd.i.i.i, align 8
  %cmp6.i.i = icmp sgt i32 %25, 0
  br i1 %cmp6.i.i, label %for.body.lr.ph.i.i, label %size_of.exit.thread.i

for.body.lr.ph.i.i:                               ; preds = %lor.lhs.false19.i
  %dimensions.i.i.i = getelementptr inbounds i8, ptr %17, i64 32
  %26 = load ptr, ptr %dimensions.i.i.i, align 8
  %wide.trip.count.i.i = zext nneg i32 %25 to i64
  br label %for.body.i.i

for.body.i.i:                                     ; preds = %for.body.i.i, %for.body.lr.ph.i.i
  %indvars.iv.i.i = phi i64 [ 0, %for.body.lr.ph.i.i ], [ %indvars.iv.next.i.i, %for.body.i.i ]
  %size.07.i.i = phi i64 [ 1, %for.body.lr.ph.i.i ], [ %mul.i.i, %for.body.i.i ]
  %arrayidx.i.i = getelementptr inbounds i64, ptr %26, i64 %indvars.iv.i.i
  %27 = load i64, ptr %arrayidx.i.i, align 8
  %mul.i.i = mul nsw i64 %27, %size.07.i.i
  %indvars.iv.next.i.i = add nuw nsw i64 %indvars.iv.i.i, 1
  %exitcond.not.i.i = icmp eq i64 %indvars.iv.next.i.i, %wide.trip.count.i.i
  br i1 %exitcond.not.i.i, label %size_of.exit.i, label %for.body.i.i

size_of.exit.i:                                   ; preds = %for.body.i.i
  %most.i = getelementptr inbounds i8, ptr %9, i64 112
  %28 = load i64, ptr %most.i, align 8
  %cmp21.i = icmp sgt i64 %mul.i.i, %28
  br i1 %cmp21.i, label %if.then10, label %for.body.i118.i

size_of.exit.thread.i:                            ; preds = %lor.lhs.false19.i
  %most138.i = getelementptr inbounds i8, ptr %9, i64 112
  %29 = load i64, ptr %most138.i, align 8
  %cmp21139.i = icmp slt i64 %29, 1
  br i1 %cmp21139.i, label %if.then10, label %size_of.exit125.thread.i

for.body.i118.i:                                  ; preds = %size_of.exit.i, %for.body.i118.i
  %indvars.iv.i119.i = phi i64 [ %indvars.iv.next.i123.i, %for.body.i118.i ], [ 0, %size_of.exit.i ]
  %size.07.i120.i = phi i64 [ %mul.i122.i, %for.body.i118.i ], [ 1, %size_of.exit.i ]
  %arrayidx.i121.i = getelementptr inbounds i64, ptr %26, i64 %indvars.iv.i119.i
  %30 = load i64, ptr %arrayidx.i121.i, align 8
  %.fr.i = freeze i64 %30
  %mul.i122.i = mul i64 %.fr.i, %size.07.i120.i
  %indvars.iv.next.i123.i = add nuw nsw i64 %indvars.iv.i119.i, 1
  %exitcond.not.i124.i = icmp eq i64 %indvars.iv.next.i123.i, %wide.trip.count.i.i
  br i1 %exitcond.not.i124.i, label %size_of.exit125.i, label %for.body.i118.i

size_of.exit125.thread.i:                         ; preds = %size_of.exit.thread.i
  %cmp28142.i = icmp eq i32 %19, 12
  br label %31

size_of.exit125.i:                                ; preds = %for.body.i118.i
  %cmp26.i = icmp eq i64 %mul.i122.i, 1
  %cmp28.i = icmp eq i32 %19, 12
  %cond30.i = select i1 %cmp28.i, i64 8, i64 4
  %spec.select.i = select i1 %cmp26.i, i64 0, i64 %cond30.i
  br label %31

31:                                               ; preds = %size_of.exit125.i, %size_of.exit125.thread.i
  %cmp28145.i = phi i1 [ %cmp28142.i, %size_of.exit125.thread.i ], [ %cmp28.i, %size_of.exit125.i ]
  %32 = phi i64 [ 0, %size_of.exit125.thread.i ], [ %spec.select.i, %size_of.exit125.i ]
  %arrayidx34.i = getelementptr inbounds %struct.operand, ptr %given, i64 %idxprom.i
  store ptr %13, ptr %arrayidx34.i, align 8
  %33 = load i64, ptr %data_of_tensor.i, align 8
  %add.ptr.i.i = getelementptr inbounds i8, ptr %13, i64 %33
  %34 = load ptr, ptr %add.ptr.i.i, align 8
  %saved.i.i = getelementptr inbounds i8, ptr %arrayidx34.i, i64 8
  store ptr %34, ptr %saved.i.i, align 8
  %data.i.i.i = getelementptr inbounds i8, ptr %34, i64 16
  %35 = load ptr, ptr %data.i.i.i, align 8
  %data.i.i = getelementptr inbounds i8, ptr %arrayidx34.i, i64 16
  store ptr %35, ptr %data.i.i, align 8
  %step3.i.i = getelementptr inbounds i8, ptr %arrayidx34.i, i64 24
  store i64 %32, ptr %step3.i.i, align 8
  %36 = load i64, ptr %operands, align 8
  %cmp36.i = icmp eq i64 %36, 2
  br i1 %cmp36.i, label %if.then38.i, label %cond.end7

if.then38.i:                                      ; preds = %31
  %idxprom39.i = zext nneg i32 %call.i151 to i64
  %arrayidx40.i = getelementptr inbounds ptr, ptr %args, i64 %idxprom39.i
  %37 = load ptr, ptr %arrayidx40.i, align 8
  br i1 %tobool.not.i, label %if.else.i, label %land.lhs.true43.i

land.lhs.true43.i:                                ; preds = %if.then38.i
  %call44.i = call fastcc i32 @is_plain(ptr noundef nonnull %9, ptr noundef %37)
  %tobool45.not.i = icmp eq i32 %call44.i, 0
  br i1 %tobool45.not.i, label %if.else.i, label %if.then46.i

if.then46.i:                                      ; preds = %land.lhs.true43.i
  %38 = load i64, ptr %spec_of_tensor.i, align 8
  %add.ptr48.i = getelementptr inbounds i8, ptr %37, i64 %38
  %39 = load ptr, ptr %add.ptr48.i, align 8
  %cmp49.not.i = icmp eq ptr %39, %15
  br i1 %cmp49.not.i, label %if.end52.i, label %if.then10

if.end52.i:                                       ; preds = %if.then46.i
  %arrayidx53.i = getelementptr inbounds i8, ptr %given, i64 48
  store ptr %37, ptr %arrayidx53.i, align 8
  %40 = load i64, ptr %data_of_tensor.i, align 8
  %add.ptr.i127.i = getelementptr inbounds i8, ptr %37, i64 %40
  %41 = load ptr, ptr %add.ptr.i127.i, align 8
  %saved.i128.i = getelementptr inbounds i8, ptr %given, i64 56
  store ptr %41, ptr %saved.i128.i, align 8
  %data.i.i129.i = getelementptr inbounds i8, ptr %41, i64 16
  %42 = load ptr, ptr %data.i.i129.i, align 8
  %data.i130.i = getelementptr inbounds i8, ptr %given, i64 64
  store ptr %42, ptr %data.i130.i, align 8
  %step3.i131.i = getelementptr inbounds i8, ptr %given, i64 72
  store i64 %32, ptr %step3.i131.i, align 8
  br label %cond.end7

if.else.i:                                        ; preds = %land.lhs.true43.i, %if.then38.i
  %arrayidx56.i = getelementptr inbounds %struct.operand, ptr %given, i64 %idxprom39.i
  %ob_type.i.i.i.i = getelementptr inbounds i8, ptr %37, i64 8
  %43 = load ptr, ptr %ob_type.i.i.i.i, align 8
  %cmp.i.not.i.i = icmp eq ptr %43, @PyFloat_Type
  %cmp.i62.not.i.i = icmp eq ptr %43, @PyLong_Type
  %or.cond.i.i = or i1 %cmp.i.not.i.i, %cmp.i62.not.i.i
  br i1 %or.cond.i.i, label %if.end.i.i, label %if.then10

if.end.i.i:                                       ; preds = %if.else.i
  %numbers_of_spec.i.i = getelementptr inbounds i8, ptr %9, i64 168
  %44 = load i64, ptr %numbers_of_spec.i.i, align 8
  %add.ptr.i132.i = getelementptr inbounds i8, ptr %15, i64 %44
  %45 = load ptr, ptr %add.ptr.i132.i, align 8
  %call3.i.i = call ptr @PyDict_GetItemWithError(ptr noundef %45, ptr noundef nonnull %37) #6
  %cmp.not.i.i = icmp eq ptr %call3.i.i, null
  br i1 %cmp.not.i.i, label %if.end10.i.i, label %if.then4.i.i

if.then4.i.i:                                     ; preds = %if.end.i.i
  %ob_type.i.i.i = getelementptr inbounds i8, ptr %call3.i.i, i64 8
  %46 = load ptr, ptr %ob_type.i.i.i, align 8
  %47 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx.i133.i = getelementptr inbounds i8, ptr %47, i64 16
  %48 = load ptr, ptr %arrayidx.i133.i, align 8
  %cmp6.not.i.i = icmp eq ptr %46, %48
  br i1 %cmp6.not.i.i, label %if.end8.i.i, label %if.then10

if.end8.i.i:                                      ; preds = %if.then4.i.i
  %data.i.i134.i = getelementptr inbounds i8, ptr %call3.i.i, i64 16
  %49 = load ptr, ptr %data.i.i134.i, align 8
  br label %read_number.exit.i

if.end10.i.i:                                     ; preds = %if.end.i.i
  %call11.i.i = call ptr @PyErr_Occurred() #6
  %tobool12.not.i.i = icmp eq ptr %call11.i.i, null
  br i1 %tobool12.not.i.i, label %if.end14.i.i, label %if.then10

if.end14.i.i:                                     ; preds = %if.end10.i.i
  %50 = load ptr, ptr %ob_type.i.i.i.i, align 8
  %cmp.i65.not.i.i = icmp eq ptr %50, @PyFloat_Type
  br i1 %cmp.i65.not.i.i, label %cond.true.i.i, label %cond.end.i.i

cond.true.i.i:                                    ; preds = %if.end14.i.i
  %call17.i.i = call double @PyFloat_AsDouble(ptr noundef nonnull %37) #6
  br label %cond.end.i.i

cond.end.i.i:                                     ; preds = %cond.true.i.i, %if.end14.i.i
  %cond.i.i = phi double [ %call17.i.i, %cond.true.i.i ], [ 1.000000e+00, %if.end14.i.i ]
  %wide.i.i = getelementptr inbounds i8, ptr %arrayidx56.i, i64 32
  store double %cond.i.i, ptr %wide.i.i, align 8
  %51 = load ptr, ptr %ob_type.i.i.i.i, align 8
  %cmp.i68.not.i.i = icmp eq ptr %51, @PyLong_Type
  br i1 %cmp.i68.not.i.i, label %land.lhs.true20.i.i, label %if.end25.i.i

land.lhs.true20.i.i:                              ; preds = %cond.end.i.i
  %call21.i.i = call i32 @PyObject_Not(ptr noundef nonnull %37) #6
  %tobool22.not.i.i = icmp eq i32 %call21.i.i, 0
  br i1 %tobool22.not.i.i, label %if.end25thread-pre-split.i.i, label %if.end25.thread.i.i

if.end25.thread.i.i:                              ; preds = %land.lhs.true20.i.i
  store double 0.000000e+00, ptr %wide.i.i, align 8
  br label %if.end29.i.i

if.end25thread-pre-split.i.i:                     ; preds = %land.lhs.true20.i.i
  %.pr.i.i = load double, ptr %wide.i.i, align 8
  br label %if.end25.i.i

if.end25.i.i:                                     ; preds = %if.end25thread-pre-split.i.i, %cond.end.i.i
  %52 = phi double [ %.pr.i.i, %if.end25thread-pre-split.i.i ], [ %cond.i.i, %cond.end.i.i ]
  %cmp27.i.i = fcmp une double %52, 0.000000e+00
  br i1 %cmp27.i.i, label %if.then10, label %if.end29.i.i

if.end29.i.i:                                     ; preds = %if.end25.i.i, %if.end25.thread.i.i
  %53 = phi double [ 0.000000e+00, %if.end25.thread.i.i ], [ %52, %if.end25.i.i ]
  %conv.i.i = fptrunc double %53 to float
  %narrow.i.i = getelementptr inbounds i8, ptr %arrayidx56.i, i64 40
  store float %conv.i.i, ptr %narrow.i.i, align 8
  %cond38.i.i = select i1 %cmp28145.i, ptr %wide.i.i, ptr %narrow.i.i
  br label %read_number.exit.i

read_number.exit.i:                               ; preds = %if.end29.i.i, %if.end8.i.i
  %.sink.i.i = phi ptr [ %49, %if.end8.i.i ], [ %cond38.i.i, %if.end29.i.i ]
  %call3.sink.i.i = phi ptr [ %call3.i.i, %if.end8.i.i ], [ %37, %if.end29.i.i ]
  %data.i135.i = getelementptr inbounds i8, ptr %arrayidx56.i, i64 16
  store ptr %.sink.i.i, ptr %data.i135.i, align 8
  %saved.i136.i = getelementptr inbounds i8, ptr %arrayidx56.i, i64 8
  store ptr %call3.sink.i.i, ptr %saved.i136.i, align 8
  br label %cond.end7

cond.end7:                                        ; preds = %read_number.exit.i, %if.end52.i, %31
  %cmp9 = icmp eq ptr %17, null
  br i1 %cmp9, label %if.then10, label %if.end18

if.then10:                                        ; preds = %entry, %if.else.i, %if.end25.i.i, %if.end10.i.i, %if.then4.i.i, %size_of.exit.thread.i, %if.then46.i, %if.end.i152, %lor.lhs.false15.i, %size_of.exit.i, %land.lhs.true.i, %lor.lhs.false.i, %cond.end, %cond.end7
  %call11 = call ptr @PyErr_Occurred() #6
  %tobool12.not = icmp eq ptr %call11, null
  br i1 %tobool12.not, label %cond.false14, label %cleanup110

cond.false14:                                     ; preds = %if.then10
  %none = getelementptr inbounds i8, ptr %1, i64 24
  %54 = load ptr, ptr %none, align 8
  call void @Py_IncRef(ptr noundef %54) #6
  br label %cleanup110

if.end18:                                         ; preds = %cond.end7
  %55 = load ptr, ptr %descr.i.i, align 8
  %type_num = getelementptr inbounds i8, ptr %55, i64 28
  %56 = load i32, ptr %type_num, align 4
  %cmp20 = icmp eq i32 %56, 12
  %cond24.in.v = select i1 %cmp20, i64 96, i64 88
  %cond24.in = getelementptr inbounds i8, ptr %0, i64 %cond24.in.v
  %cond24 = load ptr, ptr %cond24.in, align 8
  %cmp25 = icmp eq ptr %cond24, null
  br i1 %cmp25, label %if.then26, label %if.end29

if.then26:                                        ; preds = %if.end18
  %none27 = getelementptr inbounds i8, ptr %1, i64 24
  %57 = load ptr, ptr %none27, align 8
  call void @Py_IncRef(ptr noundef %57) #6
  br label %cleanup110

if.end29:                                         ; preds = %if.end18
  call void @Py_IncRef(ptr noundef nonnull %55) #6
  %58 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx = getelementptr inbounds i8, ptr %58, i64 752
  %59 = load ptr, ptr %arrayidx, align 8
  %arrayidx31 = getelementptr inbounds i8, ptr %58, i64 16
  %60 = load ptr, ptr %arrayidx31, align 8
  %61 = load ptr, ptr %descr.i.i, align 8
  %62 = load i32, ptr %nd.i.i.i, align 8
  %dimensions.i = getelementptr inbounds i8, ptr %17, i64 32
  %63 = load ptr, ptr %dimensions.i, align 8
  %call35 = call ptr %59(ptr noundef %60, ptr noundef %61, i32 noundef %62, ptr noundef %63, ptr noundef null, ptr noundef null, i32 noundef 0, ptr noundef null) #6
  %cmp36 = icmp eq ptr %call35, null
  br i1 %cmp36, label %cleanup110, label %if.end38

if.end38:                                         ; preds = %if.end29
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %size) #6
  %64 = load i32, ptr %nd.i.i.i, align 8
  %cmp6.i = icmp sgt i32 %64, 0
  br i1 %cmp6.i, label %for.body.lr.ph.i, label %size_of.exit

for.body.lr.ph.i:                                 ; preds = %if.end38
  %65 = load ptr, ptr %dimensions.i, align 8
  %wide.trip.count.i = zext nneg i32 %64 to i64
  br label %for.body.i

for.body.i:                                       ; preds = %for.body.i, %for.body.lr.ph.i
  %indvars.iv.i = phi i64 [ 0, %for.body.lr.ph.i ], [ %indvars.iv.next.i, %for.body.i ]
  %size.07.i = phi i64 [ 1, %for.body.lr.ph.i ], [ %mul.i, %for.body.i ]
  %arrayidx.i = getelementptr inbounds i64, ptr %65, i64 %indvars.iv.i
  %66 = load i64, ptr %arrayidx.i, align 8
  %mul.i = mul nsw i64 %66, %size.07.i
  %indvars.iv.next.i = add nuw nsw i64 %indvars.iv.i, 1
  %exitcond.not.i = icmp eq i64 %indvars.iv.next.i, %wide.trip.count.i
  br i1 %exitcond.not.i, label %size_of.exit, label %for.body.i

size_of.exit:                                     ; preds = %for.body.i, %if.end38
  %size.0.lcssa.i = phi i64 [ 1, %if.end38 ], [ %mul.i, %for.body.i ]
  %size.0.lcssa.i.fr = freeze i64 %size.0.lcssa.i
  store i64 %size.0.lcssa.i.fr, ptr %size, align 8
  call void @llvm.lifetime.start.p0(i64 48, ptr nonnull %all) #6
  %data = getelementptr inbounds i8, ptr %given, i64 16
  %67 = load ptr, ptr %data, align 8
  store ptr %67, ptr %all, align 8
  %arrayinit.element = getelementptr inbounds i8, ptr %all, i64 8
  %data42 = getelementptr inbounds i8, ptr %given, i64 64
  %68 = load ptr, ptr %data42, align 8
  store ptr %68, ptr %arrayinit.element, align 8
  %arrayinit.cur.ptr = getelementptr inbounds i8, ptr %all, i64 16
  store ptr null, ptr %arrayinit.cur.ptr, align 8
  %arrayinit.end = getelementptr inbounds i8, ptr %all, i64 24
  %step = getelementptr inbounds i8, ptr %given, i64 24
  %69 = load i64, ptr %step, align 8
  store i64 %69, ptr %arrayinit.end, align 8
  %arrayinit.element45 = getelementptr inbounds i8, ptr %all, i64 32
  %step47 = getelementptr inbounds i8, ptr %given, i64 72
  %70 = load i64, ptr %step47, align 8
  store i64 %70, ptr %arrayinit.element45, align 8
  %arrayinit.cur51.ptr = getelementptr inbounds i8, ptr %all, i64 40
  store i64 0, ptr %arrayinit.cur51.ptr, align 8
  %data.i157 = getelementptr inbounds i8, ptr %call35, i64 16
  %71 = load ptr, ptr %data.i157, align 8
  %72 = load i64, ptr %operands, align 8
  %arrayidx58 = getelementptr inbounds [3 x ptr], ptr %all, i64 0, i64 %72
  store ptr %71, ptr %arrayidx58, align 8
  %cmp59 = icmp eq i64 %size.0.lcssa.i.fr, 1
  %cond63 = select i1 %cmp20, i64 8, i64 4
  %spec.select = select i1 %cmp59, i64 0, i64 %cond63
  %arrayidx68 = getelementptr inbounds [3 x i64], ptr %arrayinit.end, i64 0, i64 %72
  store i64 %spec.select, ptr %arrayidx68, align 8
  %flags = getelementptr inbounds i8, ptr %1, i64 104
  %73 = load i64, ptr %flags, align 8
  %conv69 = trunc i64 %73 to i32
  %call70 = call i32 @fetestexcept(i32 noundef %conv69) #6
  %tobool71.not = icmp eq i32 %call70, 0
  br i1 %tobool71.not, label %if.end76, label %if.then72

if.then72:                                        ; preds = %size_of.exit
  %74 = load i64, ptr %flags, align 8
  %conv74 = trunc i64 %74 to i32
  %call75 = call i32 @feclearexcept(i32 noundef %conv74) #6
  br label %if.end76

if.end76:                                         ; preds = %if.then72, %size_of.exit
  %75 = load i64, ptr %size, align 8
  %cmp77.not = icmp eq i64 %75, 0
  br i1 %cmp77.not, label %if.end90, label %if.then79

if.then79:                                        ; preds = %if.end76
  %cond89.in.v = select i1 %cmp20, i64 112, i64 104
  %cond89.in = getelementptr inbounds i8, ptr %0, i64 %cond89.in.v
  %cond89 = load ptr, ptr %cond89.in, align 8
  call void %cond24(ptr noundef nonnull %all, ptr noundef nonnull %size, ptr noundef nonnull %arrayinit.end, ptr noundef %cond89) #6
  br label %if.end90

if.end90:                                         ; preds = %if.then79, %if.end76
  %76 = load ptr, ptr %given, align 8
  %cmp92.not = icmp eq ptr %76, null
  %idxprom = zext i1 %cmp92.not to i64
  %arrayidx95 = getelementptr inbounds ptr, ptr %args, i64 %idxprom
  %77 = load ptr, ptr %arrayidx95, align 8
  %spec_of_tensor = getelementptr inbounds i8, ptr %1, i64 184
  %78 = load i64, ptr %spec_of_tensor, align 8
  %add.ptr = getelementptr inbounds i8, ptr %77, i64 %78
  %79 = load ptr, ptr %add.ptr, align 8
  %80 = load i64, ptr %flags, align 8
  %conv97 = trunc i64 %80 to i32
  %call98 = call i32 @fetestexcept(i32 noundef %conv97) #6
  %tobool99.not = icmp eq i32 %call98, 0
  br i1 %tobool99.not, label %cond.false103, label %cond.true100

cond.true100:                                     ; preds = %if.end90
  %none101 = getelementptr inbounds i8, ptr %1, i64 24
  %81 = load ptr, ptr %none101, align 8
  call void @Py_IncRef(ptr noundef %81) #6
  br label %cond.end105

cond.false103:                                    ; preds = %if.end90
  %82 = load ptr, ptr %0, align 8
  call void @llvm.lifetime.start.p0(i64 16, ptr nonnull %found.i) #6
  %83 = load i64, ptr %operands, align 8
  %cmp.not80.i = icmp sgt i64 %83, 0
  br i1 %cmp.not80.i, label %for.body.i169, label %for.end.i

for.body.i169:                                    ; preds = %cond.false103, %for.inc.i
  %k.081.i = phi i64 [ %inc.i, %for.inc.i ], [ 0, %cond.false103 ]
  %arrayidx.i170 = getelementptr inbounds %struct.operand, ptr %given, i64 %k.081.i
  %84 = load ptr, ptr %arrayidx.i170, align 8
  %call.i171 = call fastcc ptr @node_behind(ptr noundef %82, ptr noundef %84)
  %arrayidx2.i = getelementptr inbounds ptr, ptr %found.i, i64 %k.081.i
  store ptr %call.i171, ptr %arrayidx2.i, align 8
  %cmp4.i = icmp eq ptr %call.i171, null
  br i1 %cmp4.i, label %if.then.i, label %for.inc.i

if.then.i:                                        ; preds = %for.body.i169
  %cmp5.i = icmp eq i64 %k.081.i, 1
  br i1 %cmp5.i, label %if.then6.i, label %recorded.exit

if.then6.i:                                       ; preds = %if.then.i
  %85 = load ptr, ptr %found.i, align 8
  call void @Py_DecRef(ptr noundef %85) #6
  br label %recorded.exit

for.inc.i:                                        ; preds = %for.body.i169
  %inc.i = add nuw nsw i64 %k.081.i, 1
  %86 = load i64, ptr %operands, align 8
  %cmp.not.i = icmp slt i64 %inc.i, %86
  br i1 %cmp.not.i, label %for.body.i169, label %for.end.i

for.end.i:                                        ; preds = %for.inc.i, %cond.false103
  %call9.i = call fastcc ptr @new_tensor(ptr noundef %82, ptr noundef nonnull %call35, ptr noundef %79)
  %cmp10.i = icmp eq ptr %call9.i, null
  %.pre86.i = load i64, ptr %operands, align 8
  br i1 %cmp10.i, label %if.then19.i, label %lor.lhs.false.i159

lor.lhs.false.i159:                               ; preds = %for.end.i
  %87 = load ptr, ptr %found.i, align 8
  %none.i = getelementptr inbounds i8, ptr %82, i64 24
  %88 = load ptr, ptr %none.i, align 8
  %cmp12.i = icmp eq ptr %87, %88
  br i1 %cmp12.i, label %land.lhs.true.i167, label %lor.lhs.false.if.end31_crit_edge.i

lor.lhs.false.if.end31_crit_edge.i:               ; preds = %lor.lhs.false.i159
  %arrayidx3.i.phi.trans.insert.i = getelementptr inbounds i8, ptr %found.i, i64 8
  %.pre85.i = load ptr, ptr %arrayidx3.i.phi.trans.insert.i, align 8
  br label %if.end31.i

land.lhs.true.i167:                               ; preds = %lor.lhs.false.i159
  %cmp14.i = icmp eq i64 %.pre86.i, 1
  %arrayidx16.i = getelementptr inbounds i8, ptr %found.i, i64 8
  %89 = load ptr, ptr %arrayidx16.i, align 8
  %cmp18.i = icmp eq ptr %89, %87
  %or.cond.i168 = select i1 %cmp14.i, i1 true, i1 %cmp18.i
  br i1 %or.cond.i168, label %if.then19.i, label %if.end31.i

if.then19.i:                                      ; preds = %land.lhs.true.i167, %for.end.i
  %cmp2382.i = icmp sgt i64 %.pre86.i, 0
  br i1 %cmp2382.i, label %for.body25.i, label %recorded.exit

for.body25.i:                                     ; preds = %if.then19.i, %for.body25.i
  %k20.083.i = phi i64 [ %inc28.i, %for.body25.i ], [ 0, %if.then19.i ]
  %arrayidx26.i = getelementptr inbounds ptr, ptr %found.i, i64 %k20.083.i
  %90 = load ptr, ptr %arrayidx26.i, align 8
  call void @Py_DecRef(ptr noundef %90) #6
  %inc28.i = add nuw nsw i64 %k20.083.i, 1
  %91 = load i64, ptr %operands, align 8
  %cmp23.i = icmp slt i64 %inc28.i, %91
  br i1 %cmp23.i, label %for.body25.i, label %recorded.exit

if.end31.i:                                       ; preds = %land.lhs.true.i167, %lor.lhs.false.if.end31_crit_edge.i
  %92 = phi ptr [ %.pre85.i, %lor.lhs.false.if.end31_crit_edge.i ], [ %89, %land.lhs.true.i167 ]
  %93 = load ptr, ptr %0, align 8
  %none.i.i = getelementptr inbounds i8, ptr %93, i64 24
  %94 = load ptr, ptr %none.i.i, align 8
  %cmp.not.i.i160 = icmp ne ptr %87, %94
  %cond.i.i161 = zext i1 %cmp.not.i.i160 to i64
  %cmp2.i.i = icmp eq i64 %.pre86.i, 2
  %cmp5.not.i.i = icmp eq ptr %92, %94
  %95 = select i1 %cmp5.not.i.i, i64 0, i64 2
  %cond6.i.i = select i1 %cmp2.i.i, i64 %95, i64 0
  %or.i.i = or disjoint i64 %cond6.i.i, %cond.i.i161
  %call.i.i = call ptr @PyTuple_New(i64 noundef %.pre86.i) #6
  %cmp8.i.i = icmp eq ptr %call.i.i, null
  %96 = load i64, ptr %operands, align 8
  %cmp11133.i.i = icmp sgt i64 %96, 0
  br i1 %cmp8.i.i, label %for.cond.preheader.i.i, label %for.cond15.preheader.i.i

for.cond15.preheader.i.i:                         ; preds = %if.end31.i
  br i1 %cmp11133.i.i, label %for.body20.i.i, label %for.cond.cleanup19.i.i

for.cond.preheader.i.i:                           ; preds = %if.end31.i
  br i1 %cmp11133.i.i, label %for.body.i.i166, label %if.then34.i

for.body.i.i166:                                  ; preds = %for.cond.preheader.i.i, %for.body.i.i166
  %k.0134.i.i = phi i64 [ %inc.i.i, %for.body.i.i166 ], [ 0, %for.cond.preheader.i.i ]
  %arrayidx13.i.i = getelementptr inbounds ptr, ptr %found.i, i64 %k.0134.i.i
  %97 = load ptr, ptr %arrayidx13.i.i, align 8
  call void @Py_DecRef(ptr noundef %97) #6
  %inc.i.i = add nuw nsw i64 %k.0134.i.i, 1
  %98 = load i64, ptr %operands, align 8
  %cmp11.i.i = icmp slt i64 %inc.i.i, %98
  br i1 %cmp11.i.i, label %for.body.i.i166, label %if.then34.i

for.cond.cleanup19.i.i:                           ; preds = %for.body20.i.i, %for.cond15.preheader.i.i
  %node26.i.i = getelementptr inbounds i8, ptr %0, i64 8
  %99 = load ptr, ptr %node26.i.i, align 8
  %call27.i.i = call ptr @PyType_GenericAlloc(ptr noundef %99, i64 noundef 0) #6
  %cmp28.i.i = icmp eq ptr %call27.i.i, null
  br i1 %cmp28.i.i, label %if.then34.sink.split.i, label %if.end31.i.i

for.body20.i.i:                                   ; preds = %for.cond15.preheader.i.i, %for.body20.i.i
  %k14.0132.i.i = phi i64 [ %inc24.i.i, %for.body20.i.i ], [ 0, %for.cond15.preheader.i.i ]
  %arrayidx21.i.i = getelementptr inbounds ptr, ptr %found.i, i64 %k14.0132.i.i
  %100 = load ptr, ptr %arrayidx21.i.i, align 8
  %call22.i.i = call i32 @PyTuple_SetItem(ptr noundef nonnull %call.i.i, i64 noundef %k14.0132.i.i, ptr noundef %100) #6
  %inc24.i.i = add nuw nsw i64 %k14.0132.i.i, 1
  %101 = load i64, ptr %operands, align 8
  %cmp17.i.i = icmp slt i64 %inc24.i.i, %101
  br i1 %cmp17.i.i, label %for.body20.i.i, label %for.cond.cleanup19.i.i

if.end31.i.i:                                     ; preds = %for.cond.cleanup19.i.i
  %next_of_node.i.i = getelementptr inbounds i8, ptr %93, i64 224
  %102 = load i64, ptr %next_of_node.i.i, align 8
  %add.ptr.i.i162 = getelementptr inbounds i8, ptr %call27.i.i, i64 %102
  store ptr %call.i.i, ptr %add.ptr.i.i162, align 8
  call void @Py_IncRef(ptr noundef %79) #6
  %spec_of_node.i.i = getelementptr inbounds i8, ptr %93, i64 248
  %103 = load i64, ptr %spec_of_node.i.i, align 8
  %add.ptr33.i.i = getelementptr inbounds i8, ptr %call27.i.i, i64 %103
  store ptr %79, ptr %add.ptr33.i.i, align 8
  %104 = load ptr, ptr %none.i.i, align 8
  call void @Py_IncRef(ptr noundef %104) #6
  %rare_of_node.i.i = getelementptr inbounds i8, ptr %93, i64 232
  %105 = load i64, ptr %rare_of_node.i.i, align 8
  %add.ptr36.i.i = getelementptr inbounds i8, ptr %call27.i.i, i64 %105
  store ptr %104, ptr %add.ptr36.i.i, align 8
  %out_data.i.i = getelementptr inbounds i8, ptr %0, i64 56
  %106 = load i64, ptr %out_data.i.i, align 8
  %cmp37.not.i.i = icmp eq i64 %106, 0
  br i1 %cmp37.not.i.i, label %if.end44.i.i, label %if.then39.i.i

if.then39.i.i:                                    ; preds = %if.end31.i.i
  %out_readers.i.i = getelementptr inbounds i8, ptr %0, i64 80
  %107 = load i64, ptr %out_readers.i.i, align 8
  %and.i.i = and i64 %107, %or.i.i
  %tobool.not.i.i = icmp eq i64 %and.i.i, 0
  br i1 %tobool.not.i.i, label %cond.false.i.i, label %cond.end.i.i163

cond.false.i.i:                                   ; preds = %if.then39.i.i
  %not_saved.i.i = getelementptr inbounds i8, ptr %93, i64 48
  %108 = load ptr, ptr %not_saved.i.i, align 8
  br label %cond.end.i.i163

cond.end.i.i163:                                  ; preds = %cond.false.i.i, %if.then39.i.i
  %cond40.i.i = phi ptr [ %108, %cond.false.i.i ], [ %call35, %if.then39.i.i ]
  call void @Py_IncRef(ptr noundef %cond40.i.i) #6
  %109 = load i64, ptr %out_data.i.i, align 8
  %add.ptr43.i.i = getelementptr inbounds i8, ptr %call27.i.i, i64 %109
  store ptr %cond40.i.i, ptr %add.ptr43.i.i, align 8
  br label %if.end44.i.i

if.end44.i.i:                                     ; preds = %cond.end.i.i163, %if.end31.i.i
  %x_data.i.i = getelementptr inbounds i8, ptr %0, i64 24
  %110 = load i64, ptr %x_data.i.i, align 8
  %x_epoch.i.i = getelementptr inbounds i8, ptr %0, i64 32
  %111 = load i64, ptr %x_epoch.i.i, align 8
  %x_readers.i.i = getelementptr inbounds i8, ptr %0, i64 64
  %112 = load i64, ptr %x_readers.i.i, align 8
  %and46.i.i = and i64 %112, %or.i.i
  %cmp47.i.i = icmp ne i64 %and46.i.i, 0
  %conv48.i.i = zext i1 %cmp47.i.i to i32
  %call49.i.i = call fastcc i32 @save(ptr noundef nonnull %93, ptr noundef nonnull %call27.i.i, i64 noundef %110, i64 noundef %111, ptr noundef nonnull readonly %given, i32 noundef %conv48.i.i)
  %cmp50.i.i = icmp slt i32 %call49.i.i, 0
  br i1 %cmp50.i.i, label %if.then34.sink.split.i, label %lor.rhs.i.i

lor.rhs.i.i:                                      ; preds = %if.end44.i.i
  %113 = load i64, ptr %operands, align 8
  %cmp53.i.i = icmp eq i64 %113, 2
  br i1 %cmp53.i.i, label %land.rhs55.i.i, label %cond.end68.i.i

land.rhs55.i.i:                                   ; preds = %lor.rhs.i.i
  %y_data.i.i = getelementptr inbounds i8, ptr %0, i64 40
  %114 = load i64, ptr %y_data.i.i, align 8
  %y_epoch.i.i = getelementptr inbounds i8, ptr %0, i64 48
  %115 = load i64, ptr %y_epoch.i.i, align 8
  %arrayidx56.i.i = getelementptr inbounds i8, ptr %given, i64 48
  %y_readers.i.i = getelementptr inbounds i8, ptr %0, i64 72
  %116 = load i64, ptr %y_readers.i.i, align 8
  %and57.i.i = and i64 %116, %or.i.i
  %cmp58.i.i = icmp ne i64 %and57.i.i, 0
  %conv59.i.i = zext i1 %cmp58.i.i to i32
  %call60.i.i = call fastcc i32 @save(ptr noundef nonnull %93, ptr noundef nonnull %call27.i.i, i64 noundef %114, i64 noundef %115, ptr noundef nonnull readonly %arrayidx56.i.i, i32 noundef %conv59.i.i)
  %cmp61.i.i = icmp slt i32 %call60.i.i, 0
  br i1 %cmp61.i.i, label %if.then34.sink.split.i, label %cond.end68.i.i

cond.end68.i.i:                                   ; preds = %land.rhs55.i.i, %lor.rhs.i.i
  %clock.i.i = getelementptr inbounds i8, ptr %93, i64 88
  %117 = load ptr, ptr %clock.i.i, align 8
  %call67.i.i = call ptr @PyObject_CallNoArgs(ptr noundef %117) #6
  %cmp70.i.i = icmp eq ptr %call67.i.i, null
  br i1 %cmp70.i.i, label %if.then34.sink.split.i, label %if.end35.i

if.then34.sink.split.i:                           ; preds = %cond.end68.i.i, %land.rhs55.i.i, %if.end44.i.i, %for.cond.cleanup19.i.i
  %call.i.sink.i = phi ptr [ %call.i.i, %for.cond.cleanup19.i.i ], [ %call27.i.i, %cond.end68.i.i ], [ %call27.i.i, %land.rhs55.i.i ], [ %call27.i.i, %if.end44.i.i ]
  call void @Py_DecRef(ptr noundef nonnull %call.i.sink.i) #6
  br label %if.then34.i

if.then34.i:                                      ; preds = %for.body.i.i166, %if.then34.sink.split.i, %for.cond.preheader.i.i
  call void @Py_DecRef(ptr noundef nonnull %call9.i) #6
  br label %recorded.exit

if.end35.i:                                       ; preds = %cond.end68.i.i
  %seq_of_node.i.i = getelementptr inbounds i8, ptr %93, i64 240
  %118 = load i64, ptr %seq_of_node.i.i, align 8
  %add.ptr74.i.i = getelementptr inbounds i8, ptr %call27.i.i, i64 %118
  store ptr %call67.i.i, ptr %add.ptr74.i.i, align 8
  %node_of_tensor.i = getelementptr inbounds i8, ptr %82, i64 192
  %119 = load i64, ptr %node_of_tensor.i, align 8
  %add.ptr.i164 = getelementptr inbounds i8, ptr %call9.i, i64 %119
  %120 = load ptr, ptr %add.ptr.i164, align 8
  store ptr %call27.i.i, ptr %add.ptr.i164, align 8
  call void @Py_DecRef(ptr noundef %120) #6
  br label %recorded.exit

recorded.exit:                                    ; preds = %for.body25.i, %if.then.i, %if.then6.i, %if.then19.i, %if.then34.i, %if.end35.i
  %retval.3.i165 = phi ptr [ null, %if.then34.i ], [ %call9.i, %if.end35.i ], [ null, %if.then.i ], [ null, %if.then6.i ], [ %call9.i, %if.then19.i ], [ %call9.i, %for.body25.i ]
  call void @llvm.lifetime.end.p0(i64 16, ptr nonnull %found.i) #6
  br label %cond.end105

cond.end105:                                      ; preds = %recorded.exit, %cond.true100
  %cond106 = phi ptr [ %81, %cond.true100 ], [ %retval.3.i165, %recorded.exit ]
  call void @Py_DecRef(ptr noundef nonnull %call35) #6
  call void @llvm.lifetime.end.p0(i64 48, ptr nonnull %all) #6
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %size) #6
  br label %cleanup110

cleanup110:                                       ; preds = %cond.end.thread175, %if.then10, %cond.false14, %cond.end105, %if.end29, %if.then26
  %retval.3 = phi ptr [ %54, %cond.false14 ], [ null, %if.then10 ], [ %57, %if.then26 ], [ %cond106, %cond.end105 ], [ null, %if.end29 ], [ null, %cond.end.thread175 ]
  call void @llvm.lifetime.end.p0(i64 96, ptr nonnull %given) #6
  ret ptr %retval.3
}

declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture) #1

declare void @llvm.memset.p0.i64(ptr nocapture writeonly, i8, i64, i1 immarg) #2

declare ptr @PyErr_Occurred() local_unnamed_addr #3

declare void @Py_IncRef(ptr noundef) local_unnamed_addr #3

declare i32 @fetestexcept(i32 noundef) local_unnamed_addr #4

declare i32 @feclearexcept(i32 noundef) local_unnamed_addr #4

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
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %modes.i) #6
  store ptr null, ptr %modes.i, align 8
  %modes1.i = getelementptr inbounds i8, ptr %1, i64 64
  %4 = load ptr, ptr %modes1.i, align 8
  %call.i = call i32 @PyContextVar_Get(ptr noundef %4, ptr noundef null, ptr noundef nonnull %modes.i) #6
  %cmp.i = icmp slt i32 %call.i, 0
  br i1 %cmp.i, label %are_normal.exit.thread, label %are_normal.exit

are_normal.exit.thread:                           ; preds = %entry
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %modes.i) #6
  br label %cleanup58

are_normal.exit:                                  ; preds = %entry
  %5 = load ptr, ptr %modes.i, align 8
  call void @Py_DecRef(ptr noundef %5) #6
  %6 = load ptr, ptr %modes.i, align 8
  %switch_.i = getelementptr inbounds i8, ptr %1, i64 72
  %7 = load ptr, ptr %switch_.i, align 8
  %normal_of_switch.i = getelementptr inbounds i8, ptr %1, i64 120
  %8 = load i64, ptr %normal_of_switch.i, align 8
  %add.ptr.i = getelementptr inbounds i8, ptr %7, i64 %8
  %9 = load ptr, ptr %add.ptr.i, align 8
  %cmp2.i.not = icmp eq ptr %6, %9
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %modes.i) #6
  br i1 %cmp2.i.not, label %lor.lhs.false, label %if.then16

lor.lhs.false:                                    ; preds = %are_normal.exit
  %call4 = call i64 @PyTuple_Size(ptr noundef %2) #6
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
  %call9 = call i64 @PyDict_Size(ptr noundef %3) #6
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
  call void @Py_IncRef(ptr noundef %20) #6
  br label %cleanup58

if.end18:                                         ; preds = %is_native_kind.exit, %lor.lhs.false11
  %21 = load i64, ptr %operands5, align 8
  %cmp20.not149 = icmp sgt i64 %21, 0
  br i1 %cmp20.not149, label %for.body.lr.ph, label %for.end

for.body.lr.ph:                                   ; preds = %if.end18
  %extra_of_tensor.i = getelementptr inbounds i8, ptr %1, i64 208
  %none.i106 = getelementptr inbounds i8, ptr %1, i64 24
  %view.i.i = getelementptr inbounds i8, ptr %1, i64 16
  %open_levels.i.i = getelementptr inbounds i8, ptr %1, i64 80
  %node_of_tensor.i.i = getelementptr inbounds i8, ptr %1, i64 192
  %counter_of_tensor.i.i = getelementptr inbounds i8, ptr %1, i64 200
  %version_of_view.i.i = getelementptr inbounds i8, ptr %1, i64 152
  %value_of_counter.i.i = getelementptr inbounds i8, ptr %1, i64 144
  %data_of_tensor.i = getelementptr inbounds i8, ptr %1, i64 176
  %large = getelementptr inbounds i8, ptr %0, i64 128
  br label %for.body

for.cond:                                         ; preds = %size_of.exit
  %inc = add nuw nsw i64 %k.0150, 1
  %22 = load i64, ptr %operands5, align 8
  %cmp20.not = icmp slt i64 %inc, %22
  br i1 %cmp20.not, label %for.body, label %for.end

for.body:                                         ; preds = %for.body.lr.ph, %for.cond
  %k.0150 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %for.cond ]
  %call21 = call ptr @PyTuple_GetItem(ptr noundef %2, i64 noundef %k.0150) #6
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
  %call1.i.i = call i32 @PyObject_IsTrue(ptr noundef %30) #6
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
  %call8.i.i = call i32 @PyObject_RichCompareBool(ptr noundef %37, ptr noundef %39, i32 noundef 2) #6
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
  call void @Py_IncRef(ptr noundef %49) #6
  br label %cleanup58

cleanup31:                                        ; preds = %size_of.exit
  %50 = load ptr, ptr %none.i106, align 8
  call void @Py_IncRef(ptr noundef %50) #6
  br label %cleanup58

for.end:                                          ; preds = %for.cond, %if.end18
  %51 = phi i64 [ %21, %if.end18 ], [ %22, %for.cond ]
  %call34 = call ptr @PyTuple_New(i64 noundef %51) #6
  %cmp35 = icmp eq ptr %call34, null
  br i1 %cmp35, label %cleanup58, label %for.cond39.preheader

for.cond39.preheader:                             ; preds = %for.end
  %52 = load i64, ptr %operands5, align 8
  %cmp41151 = icmp sgt i64 %52, 0
  br i1 %cmp41151, label %for.body43.lr.ph, label %for.cond.cleanup42

for.body43.lr.ph:                                 ; preds = %for.cond39.preheader
  %data_of_tensor45 = getelementptr inbounds i8, ptr %1, i64 176
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
  %call.i116 = call ptr @PyObject_Call(ptr noundef %54, ptr noundef nonnull %call34, ptr noundef %cond.i) #6
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
  call void @Py_IncRef(ptr noundef %59) #6
  %call2.i = call ptr @PyObject_CallObject(ptr noundef %59, ptr noundef nonnull %call34) #6
  call void @Py_DecRef(ptr noundef %59) #6
  %cmp3.i = icmp eq ptr %call2.i, null
  br i1 %cmp3.i, label %compute.exit.thread, label %if.end5.i

compute.exit.thread:                              ; preds = %if.end.i111
  call void @Py_DecRef(ptr noundef nonnull %call34) #6
  br label %cleanup58

if.end5.i:                                        ; preds = %if.end.i111
  %call6.i = call ptr @PyTuple_GetItem(ptr noundef nonnull %call2.i, i64 noundef 0) #6
  call void @Py_IncRef(ptr noundef %call6.i) #6
  call void @Py_DecRef(ptr noundef nonnull %call2.i) #6
  br label %compute.exit

compute.exit:                                     ; preds = %if.then.i, %if.end5.i
  %retval.1.i = phi ptr [ %call.i116, %if.then.i ], [ %call6.i, %if.end5.i ]
  call void @Py_DecRef(ptr noundef nonnull %call34) #6
  %cmp54 = icmp eq ptr %retval.1.i, null
  br i1 %cmp54, label %cleanup58, label %cond.false

for.body43:                                       ; preds = %for.body43.lr.ph, %for.body43
  %k38.0152 = phi i64 [ 0, %for.body43.lr.ph ], [ %inc50, %for.body43 ]
  %call44 = call ptr @PyTuple_GetItem(ptr noundef %2, i64 noundef %k38.0152) #6
  %60 = load i64, ptr %data_of_tensor45, align 8
  %add.ptr46 = getelementptr inbounds i8, ptr %call44, i64 %60
  %61 = load ptr, ptr %add.ptr46, align 8
  call void @Py_IncRef(ptr noundef %61) #6
  %call48 = call i32 @PyTuple_SetItem(ptr noundef nonnull %call34, i64 noundef %k38.0152, ptr noundef %61) #6
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
  %call2.i121 = call ptr @PyObject_Vectorcall(ptr noundef %67, ptr noundef nonnull %out.addr.i, i64 noundef 1, ptr noundef null) #6
  %68 = load ptr, ptr %out.addr.i, align 8
  call void @Py_DecRef(ptr noundef %68) #6
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
  %data_of_tensor.i.i = getelementptr inbounds i8, ptr %69, i64 176
  %descr.i59.i.i = getelementptr inbounds i8, ptr %70, i64 56
  %nd.i60.i.i = getelementptr inbounds i8, ptr %70, i64 24
  %dimensions.i61.i.i = getelementptr inbounds i8, ptr %70, i64 32
  br label %for.body.i.i

for.body.i.i:                                     ; preds = %for.inc.i.i, %for.body.lr.ph.i.i
  %k.068.i.i = phi i64 [ 0, %for.body.lr.ph.i.i ], [ %inc.i.i, %for.inc.i.i ]
  %call.i.i = call ptr @PyTuple_GetItem(ptr noundef %2, i64 noundef %k.068.i.i) #6
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
  %spec_of_tensor.i.i = getelementptr inbounds i8, ptr %69, i64 184
  %80 = load i64, ptr %spec_of_tensor.i.i, align 8
  %add.ptr16.i.i = getelementptr inbounds i8, ptr %call.i.i, i64 %80
  %81 = load ptr, ptr %add.ptr16.i.i, align 8
  call void @Py_IncRef(ptr noundef %81) #6
  br label %spec_of.exit.i

for.inc.i.i:                                      ; preds = %land.lhs.true9.i.i, %land.lhs.true.i.i, %for.body.i.i
  %inc.i.i = add nuw nsw i64 %k.068.i.i, 1
  %82 = load i64, ptr %operands5, align 8
  %cmp.not.i.i133 = icmp slt i64 %inc.i.i, %82
  br i1 %cmp.not.i.i133, label %for.body.i.i, label %for.end.i.i

for.end.i.i:                                      ; preds = %for.inc.i.i, %if.end5.i123
  call void @llvm.lifetime.start.p0(i64 16, ptr nonnull %given.i.i) #6
  %shape.i.i = getelementptr inbounds i8, ptr %0, i64 48
  %83 = load ptr, ptr %shape.i.i, align 8
  %call21.i.i = call ptr @PyObject_GetAttr(ptr noundef nonnull %70, ptr noundef %83) #6
  store ptr %call21.i.i, ptr %given.i.i, align 8
  %arrayinit.element.i.i = getelementptr inbounds i8, ptr %given.i.i, i64 8
  %dtype.i.i = getelementptr inbounds i8, ptr %0, i64 56
  %84 = load ptr, ptr %dtype.i.i, align 8
  %call22.i.i = call ptr @PyObject_GetAttr(ptr noundef nonnull %70, ptr noundef %84) #6
  store ptr %call22.i.i, ptr %arrayinit.element.i.i, align 8
  %cmp24.i.i = icmp ne ptr %call21.i.i, null
  %cmp29.i.i = icmp ne ptr %call22.i.i, null
  %or.cond.i.i = select i1 %cmp24.i.i, i1 %cmp29.i.i, i1 false
  br i1 %or.cond.i.i, label %if.then31.i.i, label %if.end34.i.i

if.then31.i.i:                                    ; preds = %for.end.i.i
  %spec_for.i.i = getelementptr inbounds i8, ptr %0, i64 40
  %85 = load ptr, ptr %spec_for.i.i, align 8
  %call33.i.i = call ptr @PyObject_Vectorcall(ptr noundef %85, ptr noundef nonnull %given.i.i, i64 noundef 2, ptr noundef null) #6
  %.pre.i.i = load ptr, ptr %given.i.i, align 8
  br label %if.end34.i.i

if.end34.i.i:                                     ; preds = %if.then31.i.i, %for.end.i.i
  %86 = phi ptr [ %.pre.i.i, %if.then31.i.i ], [ %call21.i.i, %for.end.i.i ]
  %spec.0.i.i = phi ptr [ %call33.i.i, %if.then31.i.i ], [ null, %for.end.i.i ]
  call void @Py_DecRef(ptr noundef %86) #6
  %87 = load ptr, ptr %arrayinit.element.i.i, align 8
  call void @Py_DecRef(ptr noundef %87) #6
  call void @llvm.lifetime.end.p0(i64 16, ptr nonnull %given.i.i) #6
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
  %call11.i = call ptr @PyTuple_GetItem(ptr noundef %2, i64 noundef %k.092.i) #6
  %90 = load ptr, ptr %0, align 8
  %node_of_tensor.i.i128 = getelementptr inbounds i8, ptr %90, i64 192
  %91 = load i64, ptr %node_of_tensor.i.i128, align 8
  %add.ptr2.i.i = getelementptr inbounds i8, ptr %call11.i, i64 %91
  %92 = load ptr, ptr %add.ptr2.i.i, align 8
  %none.i.i = getelementptr inbounds i8, ptr %90, i64 24
  %93 = load ptr, ptr %none.i.i, align 8
  %cmp.not.i69.i = icmp eq ptr %92, %93
  br i1 %cmp.not.i69.i, label %is_wanted.exit.i, label %land.rhs.i.i

land.rhs.i.i:                                     ; preds = %for.body.i127
  %spec_of_tensor.i70.i = getelementptr inbounds i8, ptr %90, i64 184
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
  %call23.i = call ptr @PyType_GenericAlloc(ptr noundef %104, i64 noundef 0) #6
  %cmp24.i = icmp eq ptr %call23.i, null
  br i1 %cmp24.i, label %if.then29.i, label %lor.lhs.false.i130

lor.lhs.false.i130:                               ; preds = %if.then21.i
  %105 = load ptr, ptr %out.addr.i, align 8
  %106 = load ptr, ptr %0, align 8
  %rest.i.i = getelementptr inbounds i8, ptr %0, i64 144
  %107 = load i64, ptr %operands5, align 8
  %call.i73.i = call ptr @PyTuple_New(i64 noundef %107) #6
  %108 = load i64, ptr %operands5, align 8
  %call4.i.i = call ptr @PyTuple_New(i64 noundef %108) #6
  %next_of_node.i.i = getelementptr inbounds i8, ptr %106, i64 224
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
  call void @Py_IncRef(ptr noundef nonnull %retval.3.i.i) #6
  %spec_of_node.i.i = getelementptr inbounds i8, ptr %106, i64 248
  %111 = load i64, ptr %spec_of_node.i.i, align 8
  %add.ptr8.i.i = getelementptr inbounds i8, ptr %call23.i, i64 %111
  store ptr %retval.3.i.i, ptr %add.ptr8.i.i, align 8
  %none.i77.i = getelementptr inbounds i8, ptr %106, i64 24
  %112 = load ptr, ptr %none.i77.i, align 8
  call void @Py_IncRef(ptr noundef %112) #6
  %rare_of_node.i.i = getelementptr inbounds i8, ptr %106, i64 232
  %113 = load i64, ptr %rare_of_node.i.i, align 8
  %add.ptr10.i.i = getelementptr inbounds i8, ptr %call23.i, i64 %113
  store ptr %112, ptr %add.ptr10.i.i, align 8
  call void @Py_IncRef(ptr noundef %3) #6
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
  call void @Py_IncRef(ptr noundef %cond.i.i) #6
  %118 = load i64, ptr %out_data.i.i, align 8
  %add.ptr17.i.i = getelementptr inbounds i8, ptr %call23.i, i64 %118
  store ptr %cond.i.i, ptr %add.ptr17.i.i, align 8
  br label %if.end18.i.i

if.end18.i.i:                                     ; preds = %cond.end.i.i, %if.end.i.i
  %119 = load i64, ptr %operands5, align 8
  %cmp20.not115.i.i = icmp sgt i64 %119, 0
  br i1 %cmp20.not115.i.i, label %for.body.lr.ph.i79.i, label %fill.exit.i

for.body.lr.ph.i79.i:                             ; preds = %if.end18.i.i
  %spec_of_tensor.i80.i = getelementptr inbounds i8, ptr %106, i64 184
  %saved.i.i = getelementptr inbounds i8, ptr %read.i.i, i64 8
  %data_of_tensor.i81.i = getelementptr inbounds i8, ptr %106, i64 176
  %data.i.i = getelementptr inbounds i8, ptr %read.i.i, i64 16
  br label %for.body.i82.i

for.cond.i.i:                                     ; preds = %if.end31.i.i
  %inc.i86.i = add nuw nsw i64 %k.0116.i.i, 1
  %120 = load i64, ptr %operands5, align 8
  %cmp20.not.i.i = icmp slt i64 %inc.i86.i, %120
  br i1 %cmp20.not.i.i, label %for.body.i82.i, label %fill.exit.i

for.body.i82.i:                                   ; preds = %for.cond.i.i, %for.body.lr.ph.i79.i
  %k.0116.i.i = phi i64 [ 0, %for.body.lr.ph.i79.i ], [ %inc.i86.i, %for.cond.i.i ]
  %call21.i83.i = call ptr @PyTuple_GetItem(ptr noundef %2, i64 noundef %k.0116.i.i) #6
  %121 = shl nuw i64 1, %k.0116.i.i
  %122 = and i64 %121, %or.i
  %tobool23.not.i.i = icmp eq i64 %122, 0
  %cond27.i.i = select i1 %tobool23.not.i.i, ptr null, ptr %call21.i83.i
  %call28.i.i = call fastcc ptr @node_behind(ptr noundef nonnull %106, ptr noundef %cond27.i.i)
  %cmp29.i84.i = icmp eq ptr %call28.i.i, null
  br i1 %cmp29.i84.i, label %if.then29.i, label %if.end31.i.i

if.end31.i.i:                                     ; preds = %for.body.i82.i
  %call32.i.i = call i32 @PyTuple_SetItem(ptr noundef %call.i73.i, i64 noundef %k.0116.i.i, ptr noundef nonnull %call28.i.i) #6
  %123 = load i64, ptr %spec_of_tensor.i80.i, align 8
  %add.ptr33.i.i = getelementptr inbounds i8, ptr %call21.i83.i, i64 %123
  %124 = load ptr, ptr %add.ptr33.i.i, align 8
  call void @Py_IncRef(ptr noundef %124) #6
  %call35.i.i = call i32 @PyTuple_SetItem(ptr noundef %call4.i.i, i64 noundef %k.0116.i.i, ptr noundef %124) #6
  call void @llvm.lifetime.start.p0(i64 48, ptr nonnull %read.i.i) #6
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
  call void @llvm.lifetime.end.p0(i64 48, ptr nonnull %read.i.i) #6
  br i1 %cmp44.i.i, label %if.then29.i, label %for.cond.i.i

fill.exit.i:                                      ; preds = %for.cond.i.i, %if.end18.i.i
  %clock.i.i = getelementptr inbounds i8, ptr %106, i64 88
  %130 = load ptr, ptr %clock.i.i, align 8
  %call52.i.i = call ptr @PyObject_CallNoArgs(ptr noundef %130) #6
  %seq_of_node.i.i = getelementptr inbounds i8, ptr %106, i64 240
  %131 = load i64, ptr %seq_of_node.i.i, align 8
  %add.ptr53.i.i = getelementptr inbounds i8, ptr %call23.i, i64 %131
  store ptr %call52.i.i, ptr %add.ptr53.i.i, align 8
  %cmp54.i.i = icmp eq ptr %call52.i.i, null
  br i1 %cmp54.i.i, label %if.then29.i, label %if.else.i

if.then29.i:                                      ; preds = %if.end31.i.i, %for.body.i82.i, %fill.exit.i, %lor.lhs.false.i130, %if.then21.i
  call void @Py_DecRef(ptr noundef %call23.i) #6
  call void @Py_DecRef(ptr noundef nonnull %cond.i124) #6
  br label %if.end34.i

if.else.i:                                        ; preds = %fill.exit.i
  %node_of_tensor.i = getelementptr inbounds i8, ptr %63, i64 192
  %132 = load i64, ptr %node_of_tensor.i, align 8
  %add.ptr30.i = getelementptr inbounds i8, ptr %cond.i124, i64 %132
  %133 = load ptr, ptr %add.ptr30.i, align 8
  store ptr %call23.i, ptr %add.ptr30.i, align 8
  call void @Py_DecRef(ptr noundef %133) #6
  br label %if.end34.i

if.end34.i:                                       ; preds = %if.else.i, %if.then29.i, %land.lhs.true18.i, %for.cond.cleanup.i, %cond.end.i
  %result.1.i = phi ptr [ %cond.i124, %land.lhs.true18.i ], [ %cond.i124, %for.cond.cleanup.i ], [ null, %if.then29.i ], [ %cond.i124, %if.else.i ], [ %cond.i124, %cond.end.i ]
  call void @Py_DecRef(ptr noundef %retval.3.i.i) #6
  %134 = load ptr, ptr %out.addr.i, align 8
  call void @Py_DecRef(ptr noundef %134) #6
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
  %extra_of_tensor.i = getelementptr inbounds i8, ptr %known, i64 208
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
  %call1.i.i = tail call i32 @PyObject_IsTrue(ptr noundef %7) #6
  %cmp2.not.i.i = icmp eq i32 %call1.i.i, 0
  br i1 %cmp2.not.i.i, label %lor.lhs.false3.i.i, label %land.end

lor.lhs.false3.i.i:                               ; preds = %lor.lhs.false.i.i
  %node_of_tensor.i.i = getelementptr inbounds i8, ptr %known, i64 192
  %8 = load i64, ptr %node_of_tensor.i.i, align 8
  %add.ptr.i.i = getelementptr inbounds i8, ptr %object, i64 %8
  %9 = load ptr, ptr %add.ptr.i.i, align 8
  %10 = load ptr, ptr %none.i, align 8
  %cmp4.i.i = icmp eq ptr %9, %10
  br i1 %cmp4.i.i, label %land.end, label %is_fresh.exit.i

is_fresh.exit.i:                                  ; preds = %lor.lhs.false3.i.i
  %counter_of_tensor.i.i = getelementptr inbounds i8, ptr %known, i64 200
  %11 = load i64, ptr %counter_of_tensor.i.i, align 8
  %add.ptr5.i.i = getelementptr inbounds i8, ptr %object, i64 %11
  %12 = load ptr, ptr %add.ptr5.i.i, align 8
  %version_of_view.i.i = getelementptr inbounds i8, ptr %known, i64 152
  %13 = load i64, ptr %version_of_view.i.i, align 8
  %add.ptr6.i.i = getelementptr inbounds i8, ptr %3, i64 %13
  %14 = load ptr, ptr %add.ptr6.i.i, align 8
  %value_of_counter.i.i = getelementptr inbounds i8, ptr %known, i64 144
  %15 = load i64, ptr %value_of_counter.i.i, align 8
  %add.ptr7.i.i = getelementptr inbounds i8, ptr %12, i64 %15
  %16 = load ptr, ptr %add.ptr7.i.i, align 8
  %call8.i.i = tail call i32 @PyObject_RichCompareBool(ptr noundef %14, ptr noundef %16, i32 noundef 2) #6
  %cmp9.i.not.i = icmp eq i32 %call8.i.i, 1
  br i1 %cmp9.i.not.i, label %is_usual.exit, label %land.end

is_usual.exit:                                    ; preds = %if.end.i, %is_fresh.exit.i
  %data_of_tensor.i = getelementptr inbounds i8, ptr %known, i64 176
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
  %node_of_tensor = getelementptr inbounds i8, ptr %known, i64 192
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
  tail call void @Py_IncRef(ptr noundef nonnull %cond) #6
  br label %cleanup15

if.end:                                           ; preds = %cond.end
  %reference_of_leaf = getelementptr inbounds i8, ptr %known, i64 128
  %3 = load i64, ptr %reference_of_leaf, align 8
  %add.ptr3 = getelementptr inbounds i8, ptr %cond, i64 %3
  %4 = load ptr, ptr %add.ptr3, align 8
  %none4 = getelementptr inbounds i8, ptr %known, i64 24
  %5 = load ptr, ptr %none4, align 8
  %cmp5.not = icmp eq ptr %4, %5
  br i1 %cmp5.not, label %if.end12, label %if.then6

if.then6:                                         ; preds = %if.end
  tail call void @Py_IncRef(ptr noundef %4) #6
  %call7 = tail call ptr @PyObject_CallNoArgs(ptr noundef %4) #6
  tail call void @Py_DecRef(ptr noundef %4) #6
  %6 = load ptr, ptr %none4, align 8
  %cmp9.not = icmp eq ptr %call7, %6
  br i1 %cmp9.not, label %if.end11, label %cleanup15

if.end11:                                         ; preds = %if.then6
  tail call void @Py_DecRef(ptr noundef %call7) #6
  br label %if.end12

if.end12:                                         ; preds = %if.end11, %if.end
  %accumulator_of = getelementptr inbounds i8, ptr %known, i64 96
  %7 = load ptr, ptr %accumulator_of, align 8
  %call13 = call ptr @PyObject_Vectorcall(ptr noundef %7, ptr noundef nonnull %tensor.addr, i64 noundef 1, ptr noundef null) #6
  br label %cleanup15

cleanup15:                                        ; preds = %if.end12, %if.then6, %if.then
  %retval.2 = phi ptr [ %cond, %if.then ], [ %call13, %if.end12 ], [ %call7, %if.then6 ]
  ret ptr %retval.2
}

define internal fastcc ptr @new_tensor(ptr nocapture noundef readonly %known, ptr noundef %out, ptr noundef %spec) unnamed_addr #0 {
entry:
  %0 = load ptr, ptr %known, align 8
  %call = tail call ptr @PyType_GenericAlloc(ptr noundef %0, i64 noundef 0) #6
  %cmp = icmp eq ptr %call, null
  br i1 %cmp, label %cleanup, label %if.end

if.end:                                           ; preds = %entry
  tail call void @Py_IncRef(ptr noundef %out) #6
  %data_of_tensor = getelementptr inbounds i8, ptr %known, i64 176
  %1 = load i64, ptr %data_of_tensor, align 8
  %add.ptr = getelementptr inbounds i8, ptr %call, i64 %1
  store ptr %out, ptr %add.ptr, align 8
  tail call void @Py_IncRef(ptr noundef %spec) #6
  %spec_of_tensor = getelementptr inbounds i8, ptr %known, i64 184
  %2 = load i64, ptr %spec_of_tensor, align 8
  %add.ptr4 = getelementptr inbounds i8, ptr %call, i64 %2
  store ptr %spec, ptr %add.ptr4, align 8
  %none = getelementptr inbounds i8, ptr %known, i64 24
  %3 = load ptr, ptr %none, align 8
  tail call void @Py_IncRef(ptr noundef %3) #6
  %node_of_tensor = getelementptr inbounds i8, ptr %known, i64 192
  %4 = load i64, ptr %node_of_tensor, align 8
  %add.ptr6 = getelementptr inbounds i8, ptr %call, i64 %4
  store ptr %3, ptr %add.ptr6, align 8
  %5 = load ptr, ptr %none, align 8
  tail call void @Py_IncRef(ptr noundef %5) #6
  %counter_of_tensor = getelementptr inbounds i8, ptr %known, i64 200
  %6 = load i64, ptr %counter_of_tensor, align 8
  %add.ptr9 = getelementptr inbounds i8, ptr %call, i64 %6
  store ptr %5, ptr %add.ptr9, align 8
  %7 = load ptr, ptr %none, align 8
  tail call void @Py_IncRef(ptr noundef %7) #6
  %extra_of_tensor = getelementptr inbounds i8, ptr %known, i64 208
  %8 = load i64, ptr %extra_of_tensor, align 8
  %add.ptr12 = getelementptr inbounds i8, ptr %call, i64 %8
  store ptr %7, ptr %add.ptr12, align 8
  %9 = load ptr, ptr %none, align 8
  tail call void @Py_IncRef(ptr noundef %9) #6
  %meta_of_tensor = getelementptr inbounds i8, ptr %known, i64 216
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
  %counter_of_tensor = getelementptr inbounds i8, ptr %known, i64 200
  %2 = load i64, ptr %counter_of_tensor, align 8
  %add.ptr = getelementptr inbounds i8, ptr %1, i64 %2
  %3 = load ptr, ptr %add.ptr, align 8
  %none = getelementptr inbounds i8, ptr %known, i64 24
  %4 = load ptr, ptr %none, align 8
  %cmp4 = icmp eq ptr %3, %4
  br i1 %cmp4, label %cond.true24, label %cond.end

cond.end:                                         ; preds = %if.then2
  %epoch_of_counter = getelementptr inbounds i8, ptr %known, i64 136
  %5 = load i64, ptr %epoch_of_counter, align 8
  %add.ptr6 = getelementptr inbounds i8, ptr %3, i64 %5
  %6 = load ptr, ptr %add.ptr6, align 8
  %cmp8.not = icmp eq ptr %6, %4
  br i1 %cmp8.not, label %cond.true24, label %if.then9

if.then9:                                         ; preds = %cond.end
  call void @llvm.lifetime.start.p0(i64 16, ptr nonnull %given) #6
  store ptr %6, ptr %given, align 8
  %arrayinit.element = getelementptr inbounds i8, ptr %given, i64 8
  %saved = getelementptr inbounds i8, ptr %read, i64 8
  %7 = load ptr, ptr %saved, align 8
  store ptr %7, ptr %arrayinit.element, align 8
  %hold = getelementptr inbounds i8, ptr %known, i64 56
  %8 = load ptr, ptr %hold, align 8
  %call = call ptr @PyObject_VectorcallMethod(ptr noundef %8, ptr noundef nonnull %given, i64 noundef 2, ptr noundef null) #6
  %cmp11 = icmp eq ptr %call, null
  br i1 %cmp11, label %cleanup19, label %if.end13

if.end13:                                         ; preds = %if.then9
  %add.ptr14 = getelementptr inbounds i8, ptr %node, i64 %epoch
  store ptr %call, ptr %add.ptr14, align 8
  %9 = load ptr, ptr %saved, align 8
  call void @Py_IncRef(ptr noundef %9) #6
  %add.ptr17 = getelementptr inbounds i8, ptr %node, i64 %data
  store ptr %9, ptr %add.ptr17, align 8
  br label %cleanup19

cleanup19:                                        ; preds = %if.end13, %if.then9
  %retval.0 = phi i32 [ 0, %if.end13 ], [ -1, %if.then9 ]
  call void @llvm.lifetime.end.p0(i64 16, ptr nonnull %given) #6
  br label %return

cond.true24:                                      ; preds = %if.then2, %cond.end, %land.lhs.true
  %since.1 = phi ptr [ %0, %land.lhs.true ], [ %6, %cond.end ], [ %4, %if.then2 ]
  tail call void @Py_IncRef(ptr noundef %since.1) #6
  %add.ptr22 = getelementptr inbounds i8, ptr %node, i64 %epoch
  store ptr %since.1, ptr %add.ptr22, align 8
  %saved25 = getelementptr inbounds i8, ptr %read, i64 8
  br label %cond.end28

cond.false26:                                     ; preds = %if.end
  tail call void @Py_IncRef(ptr noundef %0) #6
  %add.ptr22.c = getelementptr inbounds i8, ptr %node, i64 %epoch
  store ptr %0, ptr %add.ptr22.c, align 8
  %none27 = getelementptr inbounds i8, ptr %known, i64 24
  br label %cond.end28

cond.end28:                                       ; preds = %cond.false26, %cond.true24
  %cond29.in = phi ptr [ %saved25, %cond.true24 ], [ %none27, %cond.false26 ]
  %cond29 = load ptr, ptr %cond29.in, align 8
  tail call void @Py_IncRef(ptr noundef %cond29) #6
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

attributes #0 = { nounwind }
attributes #1 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #3 = { nounwind }
attributes #4 = { nounwind }
attributes #5 = { nofree nounwind willreturn memory(argmem: read) }
attributes #6 = { nounwind }
