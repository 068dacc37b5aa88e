; Made from c/parts.c by `make native`.

%struct.part = type { ptr, i32, %struct.lengths, %struct.lengths }
%struct.lengths = type { [8 x i64] }
%struct.rows = type { ptr, i64, i64, i64, i64, i32, i32 }

@pullback_numpy = external local_unnamed_addr global ptr, align 8

define ptr @NAME_visit(ptr nocapture noundef readonly %self, ptr noundef %args, i64 noundef %count) local_unnamed_addr #0 {
entry:
  %is_sole.i120 = alloca i32, align 4
  %part.i = alloca %struct.part, align 8
  %is_sole.i = alloca i32, align 4
  %rows.i = alloca %struct.rows, align 8
  %data.i = getelementptr inbounds i8, ptr %self, i64 16
  %0 = load ptr, ptr %data.i, align 8
  %1 = load ptr, ptr %args, align 8
  %arrayidx1 = getelementptr inbounds i8, ptr %args, i64 8
  %2 = load ptr, ptr %arrayidx1, align 8
  %arrayidx2 = getelementptr inbounds i8, ptr %args, i64 16
  %3 = load ptr, ptr %arrayidx2, align 8
  %arrayidx3 = getelementptr inbounds i8, ptr %args, i64 24
  %4 = load ptr, ptr %arrayidx3, align 8
  %call4 = tail call ptr @PyList_GetItem(ptr noundef %4, i64 noundef 0) #7
  %visit = getelementptr inbounds i8, ptr %0, i64 168
  %5 = load ptr, ptr %visit, align 8
  %call5 = tail call ptr @PyObject_GetAttr(ptr noundef %1, ptr noundef %5) #7
  %none = getelementptr inbounds i8, ptr %0, i64 40
  %6 = load ptr, ptr %none, align 8
  %cmp = icmp eq ptr %call5, %6
  br i1 %cmp, label %land.lhs.true, label %cond.end.critedge

land.lhs.true:                                    ; preds = %entry
  %rare_of_node = getelementptr inbounds i8, ptr %0, i64 264
  %7 = load i64, ptr %rare_of_node, align 8
  %add.ptr = getelementptr inbounds i8, ptr %3, i64 %7
  %8 = load ptr, ptr %add.ptr, align 8
  %cmp7 = icmp eq ptr %8, %call5
  br i1 %cmp7, label %land.rhs, label %cond.end.critedge

land.rhs:                                         ; preds = %land.lhs.true
  %ob_type.i.i = getelementptr inbounds i8, ptr %call4, i64 8
  %9 = load ptr, ptr %ob_type.i.i, align 8
  %10 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx.i = getelementptr inbounds i8, ptr %10, i64 16
  %11 = load ptr, ptr %arrayidx.i, align 8
  %cmp.i = icmp eq ptr %9, %11
  tail call void @Py_DecRef(ptr noundef %call5) #7
  tail call void @PyErr_Clear() #7
  br i1 %cmp.i, label %cond.true, label %if.end25

cond.true:                                        ; preds = %land.rhs
  %part_kind = getelementptr inbounds i8, ptr %0, i64 120
  %12 = load ptr, ptr %part_kind, align 8
  %call.i = tail call ptr @PyObject_GetAttr(ptr noundef nonnull %3, ptr noundef %12) #7
  %cmp.i95 = icmp eq ptr %call.i, null
  br i1 %cmp.i95, label %cond.end, label %cond.false.i

cond.false.i:                                     ; preds = %cond.true
  %call1.i = tail call i64 @PyLong_AsLong(ptr noundef nonnull %call.i) #7
  br label %cond.end

cond.end.critedge:                                ; preds = %entry, %land.lhs.true
  tail call void @Py_DecRef(ptr noundef %call5) #7
  tail call void @PyErr_Clear() #7
  br label %if.end25

cond.end:                                         ; preds = %cond.false.i, %cond.true
  %cond.i = phi i64 [ %call1.i, %cond.false.i ], [ 0, %cond.true ]
  tail call void @Py_DecRef(ptr noundef %call.i) #7
  tail call void @PyErr_Clear() #7
  %conv = trunc i64 %cond.i to i32
  %13 = add i32 %conv, -5
  %or.cond = icmp ult i32 %13, 2
  br i1 %or.cond, label %if.then, label %if.else

if.then:                                          ; preds = %cond.end
  %cmp.i96 = icmp eq i32 %conv, 5
  br i1 %cmp.i96, label %land.lhs.true.i, label %cond.false.i97

land.lhs.true.i:                                  ; preds = %if.then
  %fn_of_write.i.i = getelementptr inbounds i8, ptr %0, i64 304
  %14 = load i64, ptr %fn_of_write.i.i, align 8
  %add.ptr.i.i = getelementptr inbounds i8, ptr %3, i64 %14
  %15 = load ptr, ptr %add.ptr.i.i, align 8
  %assigned.i.i = getelementptr inbounds i8, ptr %0, i64 32
  %16 = load ptr, ptr %assigned.i.i, align 8
  %cmp.i.i = icmp eq ptr %15, %16
  br i1 %cmp.i.i, label %land.rhs.i.i, label %if.then.i

land.rhs.i.i:                                     ; preds = %land.lhs.true.i
  %order_of_write.i.i = getelementptr inbounds i8, ptr %0, i64 320
  %17 = load i64, ptr %order_of_write.i.i, align 8
  %add.ptr1.i.i = getelementptr inbounds i8, ptr %3, i64 %17
  %18 = load ptr, ptr %add.ptr1.i.i, align 8
  %19 = load ptr, ptr %none, align 8
  %cmp2.i.i = icmp eq ptr %18, %19
  br i1 %cmp2.i.i, label %key_of_write.exit.i, label %if.then.i

key_of_write.exit.i:                              ; preds = %land.rhs.i.i
  %key_of_write.i.i = getelementptr inbounds i8, ptr %0, i64 312
  %20 = load i64, ptr %key_of_write.i.i, align 8
  %add.ptr3.i.i = getelementptr inbounds i8, ptr %3, i64 %20
  %21 = load ptr, ptr %add.ptr3.i.i, align 8
  %cmp1.i = icmp eq ptr %21, null
  br i1 %cmp1.i, label %if.then.i, label %cond.false.i97

cond.false.i97:                                   ; preds = %key_of_write.exit.i, %if.then
  %call.i.i = tail call ptr @PyDict_GetItemWithError(ptr noundef %2, ptr noundef nonnull %3) #7
  %cmp.i18.i = icmp eq ptr %call.i.i, null
  br i1 %cmp.i18.i, label %if.then.i.i, label %lor.lhs.false.i.i

lor.lhs.false.i.i:                                ; preds = %cond.false.i97
  %descr.i.i.i.i = getelementptr inbounds i8, ptr %call4, i64 56
  %22 = load ptr, ptr %descr.i.i.i.i, align 8
  %type_num.i.i.i = getelementptr inbounds i8, ptr %22, i64 28
  %23 = load i32, ptr %type_num.i.i.i, align 4
  %24 = add i32 %23, -11
  %or.cond.i.i.i = icmp ult i32 %24, 2
  br i1 %or.cond.i.i.i, label %land.lhs.true.i.i.i, label %if.then.i.i

land.lhs.true.i.i.i:                              ; preds = %lor.lhs.false.i.i
  %byteorder.i.i.i = getelementptr inbounds i8, ptr %22, i64 26
  %25 = load i8, ptr %byteorder.i.i.i, align 2
  %cmp3.not.i.i.i = icmp eq i8 %25, 62
  br i1 %cmp3.not.i.i.i, label %if.then.i.i, label %land.lhs.true5.i.i.i

land.lhs.true5.i.i.i:                             ; preds = %land.lhs.true.i.i.i
  %flags.i.i.i.i = getelementptr inbounds i8, ptr %call4, i64 64
  %26 = load i32, ptr %flags.i.i.i.i, align 8
  %and.i.i.i = and i32 %26, 256
  %tobool.not.i.i.i = icmp eq i32 %and.i.i.i, 0
  br i1 %tobool.not.i.i.i, label %if.then.i.i, label %is_plain.exit.i.i

is_plain.exit.i.i:                                ; preds = %land.lhs.true5.i.i.i
  %nd.i.i.i.i = getelementptr inbounds i8, ptr %call4, i64 24
  %27 = load i32, ptr %nd.i.i.i.i, align 8
  %cmp8.i.i.i = icmp sgt i32 %27, 8
  br i1 %cmp8.i.i.i, label %if.then.i.i, label %if.end.i.i

if.then.i.i:                                      ; preds = %is_plain.exit.i.i, %land.lhs.true5.i.i.i, %land.lhs.true.i.i.i, %lor.lhs.false.i.i, %cond.false.i97
  tail call void @PyErr_Clear() #7
  br label %if.then.i

if.end.i.i:                                       ; preds = %is_plain.exit.i.i
  %sole.i.i = getelementptr inbounds i8, ptr %0, i64 80
  %28 = load ptr, ptr %sole.i.i, align 8
  %cmp3.not.i.i = icmp eq ptr %call.i.i, %28
  br i1 %cmp3.not.i.i, label %cond.end.i, label %land.lhs.true.i.i

land.lhs.true.i.i:                                ; preds = %if.end.i.i
  %call4.i.i = tail call ptr @PyList_GetItem(ptr noundef nonnull %call.i.i, i64 noundef 2) #7
  %own.i.i = getelementptr inbounds i8, ptr %0, i64 96
  %29 = load ptr, ptr %own.i.i, align 8
  %cmp5.i.i = icmp eq ptr %call4.i.i, %29
  br i1 %cmp5.i.i, label %if.then6.i.i, label %cond.end.i

if.then6.i.i:                                     ; preds = %land.lhs.true.i.i
  %30 = load ptr, ptr %descr.i.i.i.i, align 8
  %type_num.i.i.i.i = getelementptr inbounds i8, ptr %30, i64 28
  %31 = load i32, ptr %type_num.i.i.i.i, align 4
  %32 = add i32 %31, -11
  %or.cond.i.i.i.i = icmp ult i32 %32, 2
  br i1 %or.cond.i.i.i.i, label %land.lhs.true.i.i.i.i, label %if.then.i

land.lhs.true.i.i.i.i:                            ; preds = %if.then6.i.i
  %byteorder.i.i.i.i = getelementptr inbounds i8, ptr %30, i64 26
  %33 = load i8, ptr %byteorder.i.i.i.i, align 2
  %cmp3.not.i.i.i.i = icmp eq i8 %33, 62
  br i1 %cmp3.not.i.i.i.i, label %if.then.i, label %land.lhs.true5.i.i.i.i

land.lhs.true5.i.i.i.i:                           ; preds = %land.lhs.true.i.i.i.i
  %34 = load i32, ptr %flags.i.i.i.i, align 8
  %and.i.i.i.i = and i32 %34, 256
  %tobool.not.i.i.i.i = icmp eq i32 %and.i.i.i.i, 0
  br i1 %tobool.not.i.i.i.i, label %if.then.i, label %is_plain.exit.i.i.i

is_plain.exit.i.i.i:                              ; preds = %land.lhs.true5.i.i.i.i
  %35 = load i32, ptr %nd.i.i.i.i, align 8
  %cmp8.i.i.i.i = icmp sgt i32 %35, 8
  %36 = and i32 %34, 1025
  %37 = icmp ne i32 %36, 1025
  %or.cond30.i.i = or i1 %37, %cmp8.i.i.i.i
  br i1 %or.cond30.i.i, label %if.then.i, label %cond.end.thread24.i

cond.end.thread24.i:                              ; preds = %is_plain.exit.i.i.i
  tail call void @Py_IncRef(ptr noundef nonnull %call4) #7
  br label %if.end.i

cond.end.i:                                       ; preds = %land.lhs.true.i.i, %if.end.i.i
  %38 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx.i.i = getelementptr inbounds i8, ptr %38, i64 680
  %39 = load ptr, ptr %arrayidx.i.i, align 8
  %call14.i.i = tail call ptr %39(ptr noundef nonnull %call4, i32 noundef 0) #7
  %cmp4.i = icmp eq ptr %call14.i.i, null
  br i1 %cmp4.i, label %if.then.i, label %if.end.i

if.then.i:                                        ; preds = %cond.end.i, %is_plain.exit.i.i.i, %land.lhs.true5.i.i.i.i, %land.lhs.true.i.i.i.i, %if.then6.i.i, %if.then.i.i, %key_of_write.exit.i, %land.rhs.i.i, %land.lhs.true.i
  tail call void @PyErr_Clear() #7
  br label %if.end25

if.end.i:                                         ; preds = %cond.end.i, %cond.end.thread24.i
  %cond27.i = phi ptr [ %call4, %cond.end.thread24.i ], [ %call14.i.i, %cond.end.i ]
  %cond7.i = select i1 %cmp.i96, ptr @move_on, ptr @take_out
  %call8.i = tail call ptr %cond7.i(ptr noundef nonnull %0, ptr noundef %1, ptr noundef %2, ptr noundef nonnull %3, ptr noundef nonnull %cond27.i) #7
  tail call void @Py_DecRef(ptr noundef nonnull %cond27.i) #7
  br label %if.end25

if.else:                                          ; preds = %cond.end
  switch i32 %conv, label %if.then22 [
    i32 2, label %if.then18
    i32 0, label %if.end25
  ]

if.then18:                                        ; preds = %if.else
  call void @llvm.lifetime.start.p0(i64 4, ptr nonnull %is_sole.i) #7
  store i32 0, ptr %is_sole.i, align 4
  %call.i98 = call fastcc ptr @buffer_behind(ptr noundef nonnull readonly %0, ptr noundef %2, ptr noundef nonnull %3, ptr noundef nonnull %is_sole.i)
  call void @llvm.lifetime.start.p0(i64 48, ptr nonnull %rows.i) #7
  %cmp.not.i = icmp eq ptr %call.i98, null
  %cmp.not.i.i = icmp eq ptr %call.i98, %call4
  %or.cond.i = or i1 %cmp.not.i, %cmp.not.i.i
  br i1 %or.cond.i, label %add_rows.exit, label %land.lhs.true.i.i99

land.lhs.true.i.i99:                              ; preds = %if.then18
  %base.i.i.i = getelementptr inbounds i8, ptr %call4, i64 48
  %40 = load ptr, ptr %base.i.i.i, align 8
  %cmp1.not.i.i = icmp eq ptr %40, %call.i98
  br i1 %cmp1.not.i.i, label %add_rows.exit, label %land.lhs.true2.i.i

land.lhs.true2.i.i:                               ; preds = %land.lhs.true.i.i99
  %descr.i.i.i.i100 = getelementptr inbounds i8, ptr %call4, i64 56
  %41 = load ptr, ptr %descr.i.i.i.i100, align 8
  %type_num.i.i.i101 = getelementptr inbounds i8, ptr %41, i64 28
  %42 = load i32, ptr %type_num.i.i.i101, align 4
  %43 = add i32 %42, -11
  %or.cond.i.i.i102 = icmp ult i32 %43, 2
  br i1 %or.cond.i.i.i102, label %land.lhs.true.i.i.i104, label %add_rows.exit

land.lhs.true.i.i.i104:                           ; preds = %land.lhs.true2.i.i
  %byteorder.i.i.i105 = getelementptr inbounds i8, ptr %41, i64 26
  %44 = load i8, ptr %byteorder.i.i.i105, align 2
  %cmp3.not.i.i.i106 = icmp eq i8 %44, 62
  br i1 %cmp3.not.i.i.i106, label %add_rows.exit, label %land.lhs.true5.i.i.i107

land.lhs.true5.i.i.i107:                          ; preds = %land.lhs.true.i.i.i104
  %flags.i.i.i.i108 = getelementptr inbounds i8, ptr %call4, i64 64
  %45 = load i32, ptr %flags.i.i.i.i108, align 8
  %and.i.i.i109 = and i32 %45, 256
  %tobool.not.i.i.i110 = icmp eq i32 %and.i.i.i109, 0
  br i1 %tobool.not.i.i.i110, label %add_rows.exit, label %is_plain.exit.i.i111

is_plain.exit.i.i111:                             ; preds = %land.lhs.true5.i.i.i107
  %nd.i.i.i.i112 = getelementptr inbounds i8, ptr %call4, i64 24
  %46 = load i32, ptr %nd.i.i.i.i112, align 8
  %cmp8.i.i.i113 = icmp sgt i32 %46, 8
  br i1 %cmp8.i.i.i113, label %add_rows.exit, label %is_addend.exit.i

is_addend.exit.i:                                 ; preds = %is_plain.exit.i.i111
  %descr.i13.i.i = getelementptr inbounds i8, ptr %call.i98, i64 56
  %47 = load ptr, ptr %descr.i13.i.i, align 8
  %type_num6.i.i = getelementptr inbounds i8, ptr %47, i64 28
  %48 = load i32, ptr %type_num6.i.i, align 4
  %cmp7.i.not.i = icmp ne i32 %42, %48
  %and.i = and i32 %45, 1
  %tobool4.not.i = icmp eq i32 %and.i, 0
  %or.cond51.i = or i1 %tobool4.not.i, %cmp7.i.not.i
  br i1 %or.cond51.i, label %add_rows.exit, label %land.lhs.true5.i

land.lhs.true5.i:                                 ; preds = %is_addend.exit.i
  %call6.i = call fastcc i32 @find_rows(ptr noundef nonnull readonly %0, ptr noundef nonnull %3, ptr noundef nonnull %call.i98, ptr noundef nonnull %rows.i)
  %tobool7.not.i = icmp eq i32 %call6.i, 0
  br i1 %tobool7.not.i, label %add_rows.exit, label %land.lhs.true8.i

land.lhs.true8.i:                                 ; preds = %land.lhs.true5.i
  %dimensions.i.i = getelementptr inbounds i8, ptr %call4, i64 32
  %49 = load ptr, ptr %dimensions.i.i, align 8
  %50 = load i32, ptr %nd.i.i.i.i112, align 8
  %cmp4.i.i = icmp sgt i32 %50, 0
  br i1 %cmp4.i.i, label %for.body.preheader.i.i, label %size_of.exit.i

for.body.preheader.i.i:                           ; preds = %land.lhs.true8.i
  %wide.trip.count.i.i = zext nneg i32 %50 to i64
  br label %for.body.i.i

for.body.i.i:                                     ; preds = %for.body.i.i, %for.body.preheader.i.i
  %indvars.iv.i.i = phi i64 [ 0, %for.body.preheader.i.i ], [ %indvars.iv.next.i.i, %for.body.i.i ]
  %size.05.i.i = phi i64 [ 1, %for.body.preheader.i.i ], [ %mul.i.i, %for.body.i.i ]
  %arrayidx.i.i119 = getelementptr inbounds i64, ptr %49, i64 %indvars.iv.i.i
  %51 = load i64, ptr %arrayidx.i.i119, align 8
  %mul.i.i = mul nsw i64 %51, %size.05.i.i
  %indvars.iv.next.i.i = add nuw nsw i64 %indvars.iv.i.i, 1
  %exitcond.not.i.i = icmp eq i64 %indvars.iv.next.i.i, %wide.trip.count.i.i
  br i1 %exitcond.not.i.i, label %size_of.exit.i, label %for.body.i.i

size_of.exit.i:                                   ; preds = %for.body.i.i, %land.lhs.true8.i
  %size.0.lcssa.i.i = phi i64 [ 1, %land.lhs.true8.i ], [ %mul.i.i, %for.body.i.i ]
  %count.i = getelementptr inbounds i8, ptr %rows.i, i64 8
  %52 = load i64, ptr %count.i, align 8
  %width.i = getelementptr inbounds i8, ptr %rows.i, i64 24
  %53 = load i64, ptr %width.i, align 8
  %mul.i = mul nsw i64 %53, %52
  %cmp12.i = icmp eq i64 %size.0.lcssa.i.i, %mul.i
  br i1 %cmp12.i, label %for.cond.preheader.i, label %add_rows.exit

for.cond.preheader.i:                             ; preds = %size_of.exit.i
  %cmp1447.i = icmp sgt i64 %52, 0
  br i1 %cmp1447.i, label %for.body.lr.ph.i, label %for.cond.cleanup.i

for.body.lr.ph.i:                                 ; preds = %for.cond.preheader.i
  %data.i.i = getelementptr inbounds i8, ptr %call.i98, i64 16
  %54 = load ptr, ptr %rows.i, align 8
  %length.i.i = getelementptr inbounds i8, ptr %rows.i, i64 16
  %55 = load i64, ptr %length.i.i, align 8
  %data.i42.i = getelementptr inbounds i8, ptr %call4, i64 16
  %bytes1.i.i = getelementptr inbounds i8, ptr %rows.i, i64 32
  %56 = load i64, ptr %bytes1.i.i, align 8
  %mul.i43.i = mul nsw i64 %56, %53
  %type.i.i = getelementptr inbounds i8, ptr %rows.i, i64 40
  %57 = load i32, ptr %type.i.i, align 8
  %cmp22.i.i.i = icmp eq i32 %57, 12
  %cmp26101.i.i.i = icmp sgt i64 %53, 0
  br label %for.body.i

for.cond.cleanup.i:                               ; preds = %add_row.exit.i, %for.cond.preheader.i
  %is_held.i.i = getelementptr inbounds i8, ptr %rows.i, i64 44
  %58 = load i32, ptr %is_held.i.i, align 4
  %tobool.not.i.i = icmp eq i32 %58, 0
  br i1 %tobool.not.i.i, label %let_go.exit.i, label %land.lhs.true.i38.i

land.lhs.true.i38.i:                              ; preds = %for.cond.cleanup.i
  %keep_graph.i.i = getelementptr inbounds i8, ptr %0, i64 176
  %59 = load ptr, ptr %keep_graph.i.i, align 8
  %call.i.i.i = tail call ptr @PyObject_GetAttr(ptr noundef %1, ptr noundef %59) #7
  %cmp.i.i.i = icmp eq ptr %call.i.i.i, null
  br i1 %cmp.i.i.i, label %if.then.i.i.i, label %is_true.exit.i.i

if.then.i.i.i:                                    ; preds = %land.lhs.true.i38.i
  tail call void @PyErr_Clear() #7
  br label %is_true.exit.i.i

is_true.exit.i.i:                                 ; preds = %if.then.i.i.i, %land.lhs.true.i38.i
  tail call void @Py_DecRef(ptr noundef %call.i.i.i) #7
  %true_.i.i.i = getelementptr inbounds i8, ptr %0, i64 48
  %60 = load ptr, ptr %true_.i.i.i, align 8
  %cmp1.i.not.i.i = icmp eq ptr %call.i.i.i, %60
  br i1 %cmp1.i.not.i.i, label %let_go.exit.i, label %land.lhs.true2.i39.i

land.lhs.true2.i39.i:                             ; preds = %is_true.exit.i.i
  %rest_data.i.i = getelementptr inbounds i8, ptr %0, i64 200
  %61 = load ptr, ptr %rest_data.i.i, align 8
  %62 = load ptr, ptr %none, align 8
  %call3.i.i = tail call i32 @PyObject_SetAttr(ptr noundef %3, ptr noundef %61, ptr noundef %62) #7
  %cmp.i.i115 = icmp slt i32 %call3.i.i, 0
  br i1 %cmp.i.i115, label %if.then.i.i117, label %let_go.exit.i

if.then.i.i117:                                   ; preds = %land.lhs.true2.i39.i
  tail call void @PyErr_Clear() #7
  br label %let_go.exit.i

let_go.exit.i:                                    ; preds = %if.then.i.i117, %land.lhs.true2.i39.i, %is_true.exit.i.i, %for.cond.cleanup.i
  %63 = load i32, ptr %is_sole.i, align 4
  %tobool18.not.i = icmp eq i32 %63, 0
  br i1 %tobool18.not.i, label %cond.false.i116, label %cond.true.i

for.body.i:                                       ; preds = %add_row.exit.i, %for.body.lr.ph.i
  %k.048.i = phi i64 [ 0, %for.body.lr.ph.i ], [ %inc.i, %add_row.exit.i ]
  %64 = load ptr, ptr %data.i.i, align 8
  %arrayidx.i40.i = getelementptr inbounds i64, ptr %54, i64 %k.048.i
  %65 = load i64, ptr %arrayidx.i40.i, align 8
  %cmp.i41.i = icmp slt i64 %65, 0
  %cond.i.i = select i1 %cmp.i41.i, i64 %55, i64 0
  %add.i.i = add nsw i64 %cond.i.i, %65
  %66 = load ptr, ptr %data.i42.i, align 8
  %mul2.i.i = mul nsw i64 %add.i.i, %mul.i43.i
  %add.ptr.i.i118 = getelementptr inbounds i8, ptr %64, i64 %mul2.i.i
  %mul3.i.i = mul nsw i64 %k.048.i, %mul.i43.i
  %add.ptr4.i.i = getelementptr inbounds i8, ptr %66, i64 %mul3.i.i
  br i1 %cmp22.i.i.i, label %for.cond25.preheader.i.i.i, label %for.cond40.preheader.i.i.i

for.cond40.preheader.i.i.i:                       ; preds = %for.body.i
  br i1 %cmp26101.i.i.i, label %for.body43.i.i.i, label %add_row.exit.i

for.cond25.preheader.i.i.i:                       ; preds = %for.body.i
  br i1 %cmp26101.i.i.i, label %for.body28.i.i.i, label %add_row.exit.i

for.body28.i.i.i:                                 ; preds = %for.cond25.preheader.i.i.i, %for.body28.i.i.i
  %k24.0104.i.i.i = phi i64 [ %inc35.i.i.i, %for.body28.i.i.i ], [ 0, %for.cond25.preheader.i.i.i ]
  %to.addr.0103.i.i.i = phi ptr [ %add.ptr36.i.i.i, %for.body28.i.i.i ], [ %add.ptr.i.i118, %for.cond25.preheader.i.i.i ]
  %from.addr.0102.i.i.i = phi ptr [ %add.ptr37.i.i.i, %for.body28.i.i.i ], [ %add.ptr4.i.i, %for.cond25.preheader.i.i.i ]
  %67 = load double, ptr %to.addr.0103.i.i.i, align 8
  %68 = load double, ptr %from.addr.0102.i.i.i, align 8
  %add.i.i.i = fadd double %67, %68
  store double %add.i.i.i, ptr %to.addr.0103.i.i.i, align 8
  %inc35.i.i.i = add nuw nsw i64 %k24.0104.i.i.i, 1
  %add.ptr36.i.i.i = getelementptr inbounds i8, ptr %to.addr.0103.i.i.i, i64 %56
  %add.ptr37.i.i.i = getelementptr inbounds i8, ptr %from.addr.0102.i.i.i, i64 %56
  %exitcond109.not.i.i.i = icmp eq i64 %inc35.i.i.i, %53
  br i1 %exitcond109.not.i.i.i, label %add_row.exit.i, label %for.body28.i.i.i

for.body43.i.i.i:                                 ; preds = %for.cond40.preheader.i.i.i, %for.body43.i.i.i
  %k39.0100.i.i.i = phi i64 [ %inc51.i.i.i, %for.body43.i.i.i ], [ 0, %for.cond40.preheader.i.i.i ]
  %to.addr.199.i.i.i = phi ptr [ %add.ptr52.i.i.i, %for.body43.i.i.i ], [ %add.ptr.i.i118, %for.cond40.preheader.i.i.i ]
  %from.addr.198.i.i.i = phi ptr [ %add.ptr53.i.i.i, %for.body43.i.i.i ], [ %add.ptr4.i.i, %for.cond40.preheader.i.i.i ]
  %69 = load float, ptr %to.addr.199.i.i.i, align 4
  %70 = load float, ptr %from.addr.198.i.i.i, align 4
  %add47.i.i.i = fadd float %69, %70
  store float %add47.i.i.i, ptr %to.addr.199.i.i.i, align 4
  %inc51.i.i.i = add nuw nsw i64 %k39.0100.i.i.i, 1
  %add.ptr52.i.i.i = getelementptr inbounds i8, ptr %to.addr.199.i.i.i, i64 %56
  %add.ptr53.i.i.i = getelementptr inbounds i8, ptr %from.addr.198.i.i.i, i64 %56
  %exitcond.not.i.i.i = icmp eq i64 %inc51.i.i.i, %53
  br i1 %exitcond.not.i.i.i, label %add_row.exit.i, label %for.body43.i.i.i

add_row.exit.i:                                   ; preds = %for.body43.i.i.i, %for.body28.i.i.i, %for.cond25.preheader.i.i.i, %for.cond40.preheader.i.i.i
  %inc.i = add nuw nsw i64 %k.048.i, 1
  %exitcond.not.i = icmp eq i64 %inc.i, %52
  br i1 %exitcond.not.i, label %for.cond.cleanup.i, label %for.body.i

cond.true.i:                                      ; preds = %let_go.exit.i
  %call19.i = tail call ptr (i64, ...) @PyTuple_Pack(i64 noundef 1, ptr noundef nonnull %call.i98) #7
  br label %add_rows.exit

cond.false.i116:                                  ; preds = %let_go.exit.i
  %counted.i = getelementptr inbounds i8, ptr %0, i64 72
  %71 = load ptr, ptr %counted.i, align 8
  tail call void @Py_IncRef(ptr noundef %71) #7
  br label %add_rows.exit

add_rows.exit:                                    ; preds = %if.then18, %land.lhs.true.i.i99, %land.lhs.true2.i.i, %land.lhs.true.i.i.i104, %land.lhs.true5.i.i.i107, %is_plain.exit.i.i111, %is_addend.exit.i, %land.lhs.true5.i, %size_of.exit.i, %cond.true.i, %cond.false.i116
  %results.0.i = phi ptr [ null, %size_of.exit.i ], [ null, %land.lhs.true5.i ], [ null, %is_addend.exit.i ], [ null, %if.then18 ], [ %call19.i, %cond.true.i ], [ %71, %cond.false.i116 ], [ null, %is_plain.exit.i.i111 ], [ null, %land.lhs.true.i.i99 ], [ null, %land.lhs.true5.i.i.i107 ], [ null, %land.lhs.true.i.i.i104 ], [ null, %land.lhs.true2.i.i ]
  tail call void @Py_DecRef(ptr noundef %call.i98) #7
  call void @llvm.lifetime.end.p0(i64 48, ptr nonnull %rows.i) #7
  call void @llvm.lifetime.end.p0(i64 4, ptr nonnull %is_sole.i) #7
  br label %if.end25

if.then22:                                        ; preds = %if.else
  call void @llvm.lifetime.start.p0(i64 4, ptr nonnull %is_sole.i120) #7
  store i32 0, ptr %is_sole.i120, align 4
  %call.i121 = call fastcc ptr @buffer_behind(ptr noundef nonnull readonly %0, ptr noundef %2, ptr noundef nonnull %3, ptr noundef nonnull %is_sole.i120)
  call void @llvm.lifetime.start.p0(i64 144, ptr nonnull %part.i) #7
  %cmp.not.i122 = icmp eq ptr %call.i121, null
  %cmp.not.i.i123 = icmp eq ptr %call.i121, %call4
  %or.cond.i124 = or i1 %cmp.not.i122, %cmp.not.i.i123
  br i1 %or.cond.i124, label %add_part.exit, label %land.lhs.true.i.i125

land.lhs.true.i.i125:                             ; preds = %if.then22
  %base.i.i.i126 = getelementptr inbounds i8, ptr %call4, i64 48
  %72 = load ptr, ptr %base.i.i.i126, align 8
  %cmp1.not.i.i127 = icmp eq ptr %72, %call.i121
  br i1 %cmp1.not.i.i127, label %add_part.exit, label %land.lhs.true2.i.i128

land.lhs.true2.i.i128:                            ; preds = %land.lhs.true.i.i125
  %descr.i.i.i.i129 = getelementptr inbounds i8, ptr %call4, i64 56
  %73 = load ptr, ptr %descr.i.i.i.i129, align 8
  %type_num.i.i.i130 = getelementptr inbounds i8, ptr %73, i64 28
  %74 = load i32, ptr %type_num.i.i.i130, align 4
  %75 = add i32 %74, -11
  %or.cond.i.i.i131 = icmp ult i32 %75, 2
  br i1 %or.cond.i.i.i131, label %land.lhs.true.i.i.i133, label %add_part.exit

land.lhs.true.i.i.i133:                           ; preds = %land.lhs.true2.i.i128
  %byteorder.i.i.i134 = getelementptr inbounds i8, ptr %73, i64 26
  %76 = load i8, ptr %byteorder.i.i.i134, align 2
  %cmp3.not.i.i.i135 = icmp eq i8 %76, 62
  br i1 %cmp3.not.i.i.i135, label %add_part.exit, label %land.lhs.true5.i.i.i136

land.lhs.true5.i.i.i136:                          ; preds = %land.lhs.true.i.i.i133
  %flags.i.i.i.i137 = getelementptr inbounds i8, ptr %call4, i64 64
  %77 = load i32, ptr %flags.i.i.i.i137, align 8
  %and.i.i.i138 = and i32 %77, 256
  %tobool.not.i.i.i139 = icmp eq i32 %and.i.i.i138, 0
  br i1 %tobool.not.i.i.i139, label %add_part.exit, label %is_plain.exit.i.i140

is_plain.exit.i.i140:                             ; preds = %land.lhs.true5.i.i.i136
  %nd.i.i.i.i141 = getelementptr inbounds i8, ptr %call4, i64 24
  %78 = load i32, ptr %nd.i.i.i.i141, align 8
  %cmp8.i.i.i142 = icmp sgt i32 %78, 8
  br i1 %cmp8.i.i.i142, label %add_part.exit, label %is_addend.exit.i143

is_addend.exit.i143:                              ; preds = %is_plain.exit.i.i140
  %descr.i13.i.i144 = getelementptr inbounds i8, ptr %call.i121, i64 56
  %79 = load ptr, ptr %descr.i13.i.i144, align 8
  %type_num6.i.i145 = getelementptr inbounds i8, ptr %79, i64 28
  %80 = load i32, ptr %type_num6.i.i145, align 4
  %cmp7.i.not.i146 = icmp eq i32 %74, %80
  br i1 %cmp7.i.not.i146, label %if.then.i147, label %add_part.exit

if.then.i147:                                     ; preds = %is_addend.exit.i143
  %cmp2.i = icmp eq i32 %conv, 1
  br i1 %cmp2.i, label %cond.true.i178, label %cond.false.i148

cond.true.i178:                                   ; preds = %if.then.i147
  %key_of_part.i = getelementptr inbounds i8, ptr %0, i64 280
  %81 = load i64, ptr %key_of_part.i, align 8
  %add.ptr.i = getelementptr inbounds i8, ptr %3, i64 %81
  %82 = load ptr, ptr %add.ptr.i, align 8
  %call3.i = call fastcc i32 @find_part(ptr noundef nonnull readonly %0, ptr noundef nonnull %call.i121, ptr noundef %82, ptr noundef nonnull %part.i)
  br label %cond.end.i155

cond.false.i148:                                  ; preds = %if.then.i147
  %83 = load i32, ptr %is_sole.i120, align 4
  %tobool4.not.i149 = icmp eq i32 %83, 0
  br i1 %tobool4.not.i149, label %land.rhs.i, label %add_part.exit

land.rhs.i:                                       ; preds = %cond.false.i148
  %data.i.i.i = getelementptr inbounds i8, ptr %call.i121, i64 16
  %84 = load ptr, ptr %data.i.i.i, align 8
  store ptr %84, ptr %part.i, align 8
  %ndim.i.i = getelementptr inbounds i8, ptr %part.i, i64 8
  store i32 0, ptr %ndim.i.i, align 8
  %85 = load ptr, ptr %part_kind, align 8
  %call.i.i.i150 = tail call ptr @PyObject_GetAttr(ptr noundef nonnull %3, ptr noundef %85) #7
  %cmp.i.i.i151 = icmp eq ptr %call.i.i.i150, null
  br i1 %cmp.i.i.i151, label %if.end.critedge.i.i, label %cond.false.i.i.i

cond.false.i.i.i:                                 ; preds = %land.rhs.i
  %call1.i.i.i = tail call i64 @PyLong_AsLong(ptr noundef nonnull %call.i.i.i150) #7
  %86 = icmp eq i64 %call1.i.i.i, 3
  tail call void @Py_DecRef(ptr noundef nonnull %call.i.i.i150) #7
  tail call void @PyErr_Clear() #7
  br i1 %86, label %if.then.i.i169, label %if.end.i.i152

if.then.i.i169:                                   ; preds = %cond.false.i.i.i
  %flags.i.i.i = getelementptr inbounds i8, ptr %call.i121, i64 64
  %87 = load i32, ptr %flags.i.i.i, align 8
  %88 = load i32, ptr %flags.i.i.i.i137, align 8
  %and.i.i = and i32 %87, 1
  %and4.i.i = and i32 %and.i.i, %88
  %89 = load i32, ptr %nd.i.i.i.i141, align 8
  %cmp8132.i.i = icmp sgt i32 %89, 0
  br i1 %cmp8132.i.i, label %for.body.lr.ph.i.i, label %for.cond.cleanup.i.i

for.body.lr.ph.i.i:                               ; preds = %if.then.i.i169
  %90 = load ptr, ptr %descr.i13.i.i144, align 8
  %type_num.i.i = getelementptr inbounds i8, ptr %90, i64 28
  %91 = load i32, ptr %type_num.i.i, align 4
  %cmp6.i.i = icmp eq i32 %91, 12
  %cond.i.i172 = select i1 %cmp6.i.i, i64 8, i64 4
  %dimensions.i.i.i = getelementptr inbounds i8, ptr %call4, i64 32
  %dims.i.i = getelementptr inbounds i8, ptr %part.i, i64 16
  %strides.i.i = getelementptr inbounds i8, ptr %part.i, i64 80
  %92 = zext nneg i32 %89 to i64
  %.pre.i.i = load ptr, ptr %dimensions.i.i.i, align 8
  br label %for.body.i.i173

for.cond.cleanup.i.i:                             ; preds = %for.body.i.i173, %if.then.i.i169
  store i32 %89, ptr %ndim.i.i, align 8
  %tobool.not.i.i170 = icmp eq i32 %and4.i.i, 0
  br i1 %tobool.not.i.i170, label %find_all.exit.i, label %land.rhs.i59.i

for.body.i.i173:                                  ; preds = %for.body.i.i173, %for.body.lr.ph.i.i
  %indvars.iv.i.i174 = phi i64 [ %92, %for.body.lr.ph.i.i ], [ %indvars.iv.next.i.i175, %for.body.i.i173 ]
  %width.0134.i.i = phi i64 [ %cond.i.i172, %for.body.lr.ph.i.i ], [ %mul.i.i177, %for.body.i.i173 ]
  %indvars.iv.next.i.i175 = add nsw i64 %indvars.iv.i.i174, -1
  %arrayidx.i.i176 = getelementptr inbounds i64, ptr %.pre.i.i, i64 %indvars.iv.next.i.i175
  %93 = load i64, ptr %arrayidx.i.i176, align 8
  %arrayidx12.i.i = getelementptr inbounds [8 x i64], ptr %dims.i.i, i64 0, i64 %indvars.iv.next.i.i175
  store i64 %93, ptr %arrayidx12.i.i, align 8
  %arrayidx15.i.i = getelementptr inbounds [8 x i64], ptr %strides.i.i, i64 0, i64 %indvars.iv.next.i.i175
  store i64 %width.0134.i.i, ptr %arrayidx15.i.i, align 8
  %mul.i.i177 = mul nsw i64 %93, %width.0134.i.i
  %cmp8.i.i = icmp ugt i64 %indvars.iv.i.i174, 1
  br i1 %cmp8.i.i, label %for.body.i.i173, label %for.cond.cleanup.i.i

land.rhs.i59.i:                                   ; preds = %for.cond.cleanup.i.i
  %dimensions.i109.i.i = getelementptr inbounds i8, ptr %call.i121, i64 32
  %94 = load ptr, ptr %dimensions.i109.i.i, align 8
  %nd.i110.i.i = getelementptr inbounds i8, ptr %call.i121, i64 24
  %95 = load i32, ptr %nd.i110.i.i, align 8
  %cmp4.i.i.i = icmp sgt i32 %95, 0
  br i1 %cmp4.i.i.i, label %for.body.preheader.i.i.i, label %size_of.exit.i.i

for.body.preheader.i.i.i:                         ; preds = %land.rhs.i59.i
  %wide.trip.count.i.i.i = zext nneg i32 %95 to i64
  br label %for.body.i.i.i

for.body.i.i.i:                                   ; preds = %for.body.i.i.i, %for.body.preheader.i.i.i
  %indvars.iv.i.i.i = phi i64 [ 0, %for.body.preheader.i.i.i ], [ %indvars.iv.next.i.i.i, %for.body.i.i.i ]
  %size.05.i.i.i = phi i64 [ 1, %for.body.preheader.i.i.i ], [ %mul.i.i.i, %for.body.i.i.i ]
  %arrayidx.i.i.i = getelementptr inbounds i64, ptr %94, i64 %indvars.iv.i.i.i
  %96 = load i64, ptr %arrayidx.i.i.i, align 8
  %mul.i.i.i = mul nsw i64 %96, %size.05.i.i.i
  %indvars.iv.next.i.i.i = add nuw nsw i64 %indvars.iv.i.i.i, 1
  %exitcond.not.i.i.i171 = icmp eq i64 %indvars.iv.next.i.i.i, %wide.trip.count.i.i.i
  br i1 %exitcond.not.i.i.i171, label %size_of.exit.i.i, label %for.body.i.i.i

size_of.exit.i.i:                                 ; preds = %for.body.i.i.i, %land.rhs.i59.i
  %size.0.lcssa.i.i.i = phi i64 [ 1, %land.rhs.i59.i ], [ %mul.i.i.i, %for.body.i.i.i ]
  %dims24.i.i = getelementptr inbounds i8, ptr %part.i, i64 16
  br i1 %cmp8132.i.i, label %for.body.preheader.i113.i.i, label %size_of.exit122.i.i

for.body.preheader.i113.i.i:                      ; preds = %size_of.exit.i.i
  %wide.trip.count.i114.i.i = zext nneg i32 %89 to i64
  br label %for.body.i115.i.i

for.body.i115.i.i:                                ; preds = %for.body.i115.i.i, %for.body.preheader.i113.i.i
  %indvars.iv.i116.i.i = phi i64 [ 0, %for.body.preheader.i113.i.i ], [ %indvars.iv.next.i120.i.i, %for.body.i115.i.i ]
  %size.05.i117.i.i = phi i64 [ 1, %for.body.preheader.i113.i.i ], [ %mul.i119.i.i, %for.body.i115.i.i ]
  %arrayidx.i118.i.i = getelementptr inbounds i64, ptr %dims24.i.i, i64 %indvars.iv.i116.i.i
  %97 = load i64, ptr %arrayidx.i118.i.i, align 8
  %mul.i119.i.i = mul nsw i64 %97, %size.05.i117.i.i
  %indvars.iv.next.i120.i.i = add nuw nsw i64 %indvars.iv.i116.i.i, 1
  %exitcond.not.i121.i.i = icmp eq i64 %indvars.iv.next.i120.i.i, %wide.trip.count.i114.i.i
  br i1 %exitcond.not.i121.i.i, label %size_of.exit122.i.i, label %for.body.i115.i.i

size_of.exit122.i.i:                              ; preds = %for.body.i115.i.i, %size_of.exit.i.i
  %size.0.lcssa.i112.i.i = phi i64 [ 1, %size_of.exit.i.i ], [ %mul.i119.i.i, %for.body.i115.i.i ]
  %cmp28.i.i = icmp eq i64 %size.0.lcssa.i.i.i, %size.0.lcssa.i112.i.i
  br label %find_all.exit.i

if.end.critedge.i.i:                              ; preds = %land.rhs.i
  tail call void @Py_DecRef(ptr noundef null) #7
  tail call void @PyErr_Clear() #7
  br label %if.end.i.i152

if.end.i.i152:                                    ; preds = %if.end.critedge.i.i, %cond.false.i.i.i
  %params_of_part.i.i = getelementptr inbounds i8, ptr %0, i64 296
  %98 = load i64, ptr %params_of_part.i.i, align 8
  %add.ptr.i.i153 = getelementptr inbounds i8, ptr %3, i64 %98
  %99 = load ptr, ptr %add.ptr.i.i153, align 8
  %axes30.i.i = getelementptr inbounds i8, ptr %0, i64 136
  %100 = load ptr, ptr %axes30.i.i, align 8
  %call31.i.i = tail call ptr @PyDict_GetItemWithError(ptr noundef %99, ptr noundef %100) #7
  %cmp32.i.i = icmp eq ptr %call31.i.i, null
  br i1 %cmp32.i.i, label %for.cond.cleanup43.i.i, label %lor.lhs.false.i.i154

lor.lhs.false.i.i154:                             ; preds = %if.end.i.i152
  %ob_type.i.i.i = getelementptr inbounds i8, ptr %call31.i.i, i64 8
  %101 = load ptr, ptr %ob_type.i.i.i, align 8
  %call.i123.i.i = tail call i64 @PyType_GetFlags(ptr noundef %101) #7
  %102 = and i64 %call.i123.i.i, 67108864
  %tobool36.not.i.i = icmp eq i64 %102, 0
  br i1 %tobool36.not.i.i, label %for.cond.cleanup43.i.i, label %cond.end.i.i

cond.end.i.i:                                     ; preds = %lor.lhs.false.i.i154
  %call37.i.i = tail call i64 @PyTuple_Size(ptr noundef nonnull %call31.i.i) #7
  %cmp41135.i.i = icmp sgt i64 %call37.i.i, 0
  br i1 %cmp41135.i.i, label %for.body44.lr.ph.i.i, label %for.cond.cleanup43.i.i

for.body44.lr.ph.i.i:                             ; preds = %cond.end.i.i
  %nd.i125.i.i = getelementptr inbounds i8, ptr %call.i121, i64 24
  %strides.i.i.i = getelementptr inbounds i8, ptr %call.i121, i64 40
  %dimensions.i126.i.i = getelementptr inbounds i8, ptr %call.i121, i64 32
  %dims.i.i.i = getelementptr inbounds i8, ptr %part.i, i64 16
  %strides.i129.i.i = getelementptr inbounds i8, ptr %part.i, i64 80
  br label %for.body44.i.i

for.cond.cleanup43.i.i:                           ; preds = %if.end62.i.i, %cond.end.i.i, %lor.lhs.false.i.i154, %if.end.i.i152
  %count.0.lcssa.i.i = phi i64 [ %call37.i.i, %cond.end.i.i ], [ -1, %lor.lhs.false.i.i154 ], [ -1, %if.end.i.i152 ], [ %count.1.i.i, %if.end62.i.i ]
  tail call void @PyErr_Clear() #7
  %nd.i124.i.i = getelementptr inbounds i8, ptr %call.i121, i64 24
  %103 = load i32, ptr %nd.i124.i.i, align 8
  %conv66.i.i = sext i32 %103 to i64
  %cmp67.i.i = icmp eq i64 %count.0.lcssa.i.i, %conv66.i.i
  br label %find_all.exit.i

for.body44.i.i:                                   ; preds = %if.end62.i.i, %for.body44.lr.ph.i.i
  %k39.0137.i.i = phi i64 [ 0, %for.body44.lr.ph.i.i ], [ %inc.i.i, %if.end62.i.i ]
  %count.0136.i.i = phi i64 [ %call37.i.i, %for.body44.lr.ph.i.i ], [ %count.1.i.i, %if.end62.i.i ]
  %call45.i.i = tail call ptr @PyTuple_GetItem(ptr noundef nonnull %call31.i.i, i64 noundef %k39.0137.i.i) #7
  %call46.i.i = tail call i64 @PyLong_AsSsize_t(ptr noundef %call45.i.i) #7
  %cmp47.i.i = icmp slt i64 %call46.i.i, 0
  br i1 %cmp47.i.i, label %if.end62.i.i, label %lor.lhs.false49.i.i

lor.lhs.false49.i.i:                              ; preds = %for.body44.i.i
  %104 = load i32, ptr %nd.i125.i.i, align 8
  %conv51.i.i = sext i32 %104 to i64
  %cmp52.not.i.i = icmp slt i64 %call46.i.i, %conv51.i.i
  br i1 %cmp52.not.i.i, label %lor.lhs.false54.i.i, label %if.end62.i.i

lor.lhs.false54.i.i:                              ; preds = %lor.lhs.false49.i.i
  %105 = load i32, ptr %ndim.i.i, align 8
  %cmp.i127.i.i = icmp eq i32 %105, 8
  br i1 %cmp.i127.i.i, label %if.end62.i.i, label %keep_axis.exit.i.i

keep_axis.exit.i.i:                               ; preds = %lor.lhs.false54.i.i
  %106 = load ptr, ptr %strides.i.i.i, align 8
  %arrayidx58.i.i = getelementptr inbounds i64, ptr %106, i64 %call46.i.i
  %107 = load i64, ptr %arrayidx58.i.i, align 8
  %108 = load ptr, ptr %dimensions.i126.i.i, align 8
  %arrayidx56.i.i = getelementptr inbounds i64, ptr %108, i64 %call46.i.i
  %109 = load i64, ptr %arrayidx56.i.i, align 8
  %idxprom.i.i.i = sext i32 %105 to i64
  %arrayidx.i128.i.i = getelementptr inbounds [8 x i64], ptr %dims.i.i.i, i64 0, i64 %idxprom.i.i.i
  store i64 %109, ptr %arrayidx.i128.i.i, align 8
  %110 = load i32, ptr %ndim.i.i, align 8
  %inc.i.i.i = add nsw i32 %110, 1
  store i32 %inc.i.i.i, ptr %ndim.i.i, align 8
  %idxprom4.i.i.i = sext i32 %110 to i64
  %arrayidx5.i.i.i = getelementptr inbounds [8 x i64], ptr %strides.i129.i.i, i64 0, i64 %idxprom4.i.i.i
  store i64 %107, ptr %arrayidx5.i.i.i, align 8
  br label %if.end62.i.i

if.end62.i.i:                                     ; preds = %keep_axis.exit.i.i, %lor.lhs.false54.i.i, %lor.lhs.false49.i.i, %for.body44.i.i
  %count.1.i.i = phi i64 [ %count.0136.i.i, %keep_axis.exit.i.i ], [ -1, %lor.lhs.false49.i.i ], [ -1, %for.body44.i.i ], [ -1, %lor.lhs.false54.i.i ]
  %inc.i.i = add nuw nsw i64 %k39.0137.i.i, 1
  %cmp41.i.i = icmp slt i64 %inc.i.i, %count.1.i.i
  br i1 %cmp41.i.i, label %for.body44.i.i, label %for.cond.cleanup43.i.i

find_all.exit.i:                                  ; preds = %for.cond.cleanup43.i.i, %size_of.exit122.i.i, %for.cond.cleanup.i.i
  %retval.0.shrunk.i.i = phi i1 [ %cmp67.i.i, %for.cond.cleanup43.i.i ], [ false, %for.cond.cleanup.i.i ], [ %cmp28.i.i, %size_of.exit122.i.i ]
  %retval.0.i.i = zext i1 %retval.0.shrunk.i.i to i32
  br label %cond.end.i155

cond.end.i155:                                    ; preds = %find_all.exit.i, %cond.true.i178
  %cond.i156 = phi i32 [ %call3.i, %cond.true.i178 ], [ %retval.0.i.i, %find_all.exit.i ]
  %111 = icmp eq i32 %cond.i156, 0
  br i1 %111, label %add_part.exit, label %land.lhs.true8.i157

land.lhs.true8.i157:                              ; preds = %cond.end.i155
  %ndim.i = getelementptr inbounds i8, ptr %part.i, i64 8
  %112 = load i32, ptr %ndim.i, align 8
  %113 = load i32, ptr %nd.i.i.i.i141, align 8
  %cmp10.i = icmp eq i32 %112, %113
  br i1 %cmp10.i, label %land.lhs.true11.i, label %add_part.exit

land.lhs.true11.i:                                ; preds = %land.lhs.true8.i157
  %dims.i = getelementptr inbounds i8, ptr %part.i, i64 16
  %cmp4.i.i158 = icmp sgt i32 %112, 0
  br i1 %cmp4.i.i158, label %for.body.preheader.i.i164, label %land.lhs.true15.i

for.body.preheader.i.i164:                        ; preds = %land.lhs.true11.i
  %wide.trip.count.i.i165 = zext nneg i32 %112 to i64
  br label %for.body.i61.i

for.body.i61.i:                                   ; preds = %for.body.i61.i, %for.body.preheader.i.i164
  %indvars.iv.i62.i = phi i64 [ 0, %for.body.preheader.i.i164 ], [ %indvars.iv.next.i65.i, %for.body.i61.i ]
  %size.05.i.i166 = phi i64 [ 1, %for.body.preheader.i.i164 ], [ %mul.i64.i, %for.body.i61.i ]
  %arrayidx.i63.i = getelementptr inbounds i64, ptr %dims.i, i64 %indvars.iv.i62.i
  %114 = load i64, ptr %arrayidx.i63.i, align 8
  %mul.i64.i = mul nsw i64 %114, %size.05.i.i166
  %indvars.iv.next.i65.i = add nuw nsw i64 %indvars.iv.i62.i, 1
  %exitcond.not.i.i167 = icmp eq i64 %indvars.iv.next.i65.i, %wide.trip.count.i.i165
  br i1 %exitcond.not.i.i167, label %size_of.exit.i168, label %for.body.i61.i

size_of.exit.i168:                                ; preds = %for.body.i61.i
  %cmp14.i = icmp slt i64 %mul.i64.i, 513
  br i1 %cmp14.i, label %land.lhs.true15.i, label %add_part.exit

land.lhs.true15.i:                                ; preds = %size_of.exit.i168, %land.lhs.true11.i
  %dimensions.i.i159 = getelementptr inbounds i8, ptr %call4, i64 32
  %115 = load ptr, ptr %dimensions.i.i159, align 8
  %conv.i160 = sext i32 %112 to i64
  %mul.i161 = shl nsw i64 %conv.i160, 3
  %bcmp.i = call i32 @bcmp(ptr nonnull %dims.i, ptr %115, i64 %mul.i161)
  %cmp22.i = icmp eq i32 %bcmp.i, 0
  br i1 %cmp22.i, label %if.then24.i, label %add_part.exit

if.then24.i:                                      ; preds = %land.lhs.true15.i
  %116 = load ptr, ptr %part.i, align 8
  %strides.i = getelementptr inbounds i8, ptr %part.i, i64 80
  %data.i.i162 = getelementptr inbounds i8, ptr %call4, i64 16
  %117 = load ptr, ptr %data.i.i162, align 8
  %strides.i66.i = getelementptr inbounds i8, ptr %call4, i64 40
  %118 = load ptr, ptr %strides.i66.i, align 8
  %119 = load ptr, ptr %descr.i13.i.i144, align 8
  %type_num.i = getelementptr inbounds i8, ptr %119, i64 28
  %120 = load i32, ptr %type_num.i, align 4
  %121 = load i32, ptr %is_sole.i120, align 4
  call fastcc void @add(ptr noundef %116, ptr noundef nonnull %strides.i, ptr noundef %117, ptr noundef %118, ptr noundef nonnull %dims.i, i32 noundef %112, i32 noundef %120, i32 noundef %121)
  %tobool34.not.i = icmp eq i32 %121, 0
  br i1 %tobool34.not.i, label %cond.false37.i, label %cond.true35.i

cond.true35.i:                                    ; preds = %if.then24.i
  %call36.i = tail call ptr (i64, ...) @PyTuple_Pack(i64 noundef 1, ptr noundef nonnull %call.i121) #7
  br label %add_part.exit

cond.false37.i:                                   ; preds = %if.then24.i
  %counted.i163 = getelementptr inbounds i8, ptr %0, i64 72
  %122 = load ptr, ptr %counted.i163, align 8
  tail call void @Py_IncRef(ptr noundef %122) #7
  br label %add_part.exit

add_part.exit:                                    ; preds = %if.then22, %land.lhs.true.i.i125, %land.lhs.true2.i.i128, %land.lhs.true.i.i.i133, %land.lhs.true5.i.i.i136, %is_plain.exit.i.i140, %is_addend.exit.i143, %cond.false.i148, %cond.end.i155, %land.lhs.true8.i157, %size_of.exit.i168, %land.lhs.true15.i, %cond.true35.i, %cond.false37.i
  %results.0.i132 = phi ptr [ null, %land.lhs.true15.i ], [ null, %size_of.exit.i168 ], [ null, %land.lhs.true8.i157 ], [ null, %cond.end.i155 ], [ %call36.i, %cond.true35.i ], [ %122, %cond.false37.i ], [ null, %if.then22 ], [ null, %is_addend.exit.i143 ], [ null, %is_plain.exit.i.i140 ], [ null, %land.lhs.true.i.i125 ], [ null, %land.lhs.true5.i.i.i136 ], [ null, %land.lhs.true.i.i.i133 ], [ null, %land.lhs.true2.i.i128 ], [ null, %cond.false.i148 ]
  tail call void @Py_DecRef(ptr noundef %call.i121) #7
  call void @llvm.lifetime.end.p0(i64 144, ptr nonnull %part.i) #7
  call void @llvm.lifetime.end.p0(i64 4, ptr nonnull %is_sole.i120) #7
  br label %if.end25

if.end25:                                         ; preds = %land.rhs, %cond.end.critedge, %if.end.i, %if.then.i, %if.else, %add_rows.exit, %add_part.exit
  %results.0 = phi ptr [ %results.0.i, %add_rows.exit ], [ %results.0.i132, %add_part.exit ], [ null, %if.else ], [ null, %if.then.i ], [ %call8.i, %if.end.i ], [ null, %cond.end.critedge ], [ null, %land.rhs ]
  %call26 = tail call ptr @PyErr_Occurred() #7
  %tobool27.not = icmp eq ptr %call26, null
  br i1 %tobool27.not, label %if.end29, label %if.then28

if.then28:                                        ; preds = %if.end25
  tail call void @Py_DecRef(ptr noundef %results.0) #7
  br label %cleanup47

if.end29:                                         ; preds = %if.end25
  %cmp30 = icmp eq ptr %results.0, null
  br i1 %cmp30, label %if.then32, label %if.end34

if.then32:                                        ; preds = %if.end29
  %slow = getelementptr inbounds i8, ptr %0, i64 24
  %123 = load ptr, ptr %slow, align 8
  %call33 = tail call ptr @PyObject_Vectorcall(ptr noundef %123, ptr noundef nonnull %args, i64 noundef %count, ptr noundef null) #7
  br label %cleanup47

if.end34:                                         ; preds = %if.end29
  %call35 = tail call ptr @PyTuple_New(i64 noundef 3) #7
  %cmp36 = icmp eq ptr %call35, null
  br i1 %cmp36, label %if.then38, label %if.end39

if.then38:                                        ; preds = %if.end34
  tail call void @Py_DecRef(ptr noundef nonnull %results.0) #7
  br label %cleanup47

if.end39:                                         ; preds = %if.end34
  %call40 = tail call i32 @PyTuple_SetItem(ptr noundef nonnull %call35, i64 noundef 0, ptr noundef nonnull %results.0) #7
  %next_of_node = getelementptr inbounds i8, ptr %0, i64 256
  %124 = load i64, ptr %next_of_node, align 8
  %add.ptr41 = getelementptr inbounds i8, ptr %3, i64 %124
  %125 = load ptr, ptr %add.ptr41, align 8
  tail call void @Py_IncRef(ptr noundef %125) #7
  %call43 = tail call i32 @PyTuple_SetItem(ptr noundef nonnull %call35, i64 noundef 1, ptr noundef %125) #7
  %126 = load ptr, ptr %none, align 8
  tail call void @Py_IncRef(ptr noundef %126) #7
  %call46 = tail call i32 @PyTuple_SetItem(ptr noundef nonnull %call35, i64 noundef 2, ptr noundef %126) #7
  br label %cleanup47

cleanup47:                                        ; preds = %if.then38, %if.end39, %if.then32, %if.then28
  %retval.1 = phi ptr [ null, %if.then28 ], [ %call33, %if.then32 ], [ null, %if.then38 ], [ %call35, %if.end39 ]
  ret ptr %retval.1
}

declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture) #1

declare ptr @PyList_GetItem(ptr noundef, i64 noundef) local_unnamed_addr #2

declare ptr @PyObject_GetAttr(ptr noundef, ptr noundef) local_unnamed_addr #2

declare void @Py_DecRef(ptr noundef) local_unnamed_addr #2

declare void @PyErr_Clear() local_unnamed_addr #2

declare ptr @PyErr_Occurred() local_unnamed_addr #2

declare ptr @PyObject_Vectorcall(ptr noundef, ptr noundef, i64 noundef, ptr noundef) local_unnamed_addr #2

declare ptr @PyTuple_New(i64 noundef) local_unnamed_addr #2

declare i32 @PyTuple_SetItem(ptr noundef, i64 noundef, ptr noundef) local_unnamed_addr #2

declare void @llvm.lifetime.end.p0(i64 immarg, ptr nocapture) #1

declare i64 @PyLong_AsLong(ptr noundef) local_unnamed_addr #2

define internal ptr @move_on(ptr nocapture noundef readonly %known, ptr noundef %task, ptr noundef %entries, ptr noundef %node, ptr noundef %whole) unnamed_addr #0 {
entry:
  %zero.i = alloca double, align 8
  %still.i = alloca %struct.lengths, align 8
  %part = alloca %struct.part, align 8
  %next_of_node = getelementptr inbounds i8, ptr %known, i64 256
  %0 = load i64, ptr %next_of_node, align 8
  %add.ptr = getelementptr inbounds i8, ptr %node, i64 %0
  %1 = load ptr, ptr %add.ptr, align 8
  %fn_of_write.i = getelementptr inbounds i8, ptr %known, i64 304
  %2 = load i64, ptr %fn_of_write.i, align 8
  %add.ptr.i = getelementptr inbounds i8, ptr %node, i64 %2
  %3 = load ptr, ptr %add.ptr.i, align 8
  %assigned.i = getelementptr inbounds i8, ptr %known, i64 32
  %4 = load ptr, ptr %assigned.i, align 8
  %cmp.i = icmp eq ptr %3, %4
  br i1 %cmp.i, label %land.rhs.i, label %key_of_write.exit

land.rhs.i:                                       ; preds = %entry
  %order_of_write.i = getelementptr inbounds i8, ptr %known, i64 320
  %5 = load i64, ptr %order_of_write.i, align 8
  %add.ptr1.i = getelementptr inbounds i8, ptr %node, i64 %5
  %6 = load ptr, ptr %add.ptr1.i, align 8
  %none.i = getelementptr inbounds i8, ptr %known, i64 40
  %7 = load ptr, ptr %none.i, align 8
  %cmp2.i = icmp eq ptr %6, %7
  br i1 %cmp2.i, label %cond.true.i, label %key_of_write.exit

cond.true.i:                                      ; preds = %land.rhs.i
  %key_of_write.i = getelementptr inbounds i8, ptr %known, i64 312
  %8 = load i64, ptr %key_of_write.i, align 8
  %add.ptr3.i = getelementptr inbounds i8, ptr %node, i64 %8
  %9 = load ptr, ptr %add.ptr3.i, align 8
  br label %key_of_write.exit

key_of_write.exit:                                ; preds = %entry, %land.rhs.i, %cond.true.i
  %cond.i = phi ptr [ %9, %cond.true.i ], [ null, %land.rhs.i ], [ null, %entry ]
  %call1 = tail call ptr @PyTuple_GetItem(ptr noundef %1, i64 noundef 0) #7
  %call2 = tail call ptr @PyTuple_GetItem(ptr noundef %1, i64 noundef 1) #7
  call void @llvm.lifetime.start.p0(i64 144, ptr nonnull %part) #7
  %cmp.not = icmp eq ptr %cond.i, null
  br i1 %cmp.not, label %if.then19, label %land.lhs.true

land.lhs.true:                                    ; preds = %key_of_write.exit
  %none = getelementptr inbounds i8, ptr %known, i64 40
  %10 = load ptr, ptr %none, align 8
  %cmp3.not = icmp eq ptr %call1, %10
  br i1 %cmp3.not, label %if.then19, label %land.lhs.true4

land.lhs.true4:                                   ; preds = %land.lhs.true
  %call5 = call fastcc i32 @find_part(ptr noundef nonnull %known, ptr noundef %whole, ptr noundef nonnull %cond.i, ptr noundef nonnull %part)
  %tobool.not = icmp eq i32 %call5, 0
  br i1 %tobool.not, label %if.then19, label %land.lhs.true6

land.lhs.true6:                                   ; preds = %land.lhs.true4
  %dims = getelementptr inbounds i8, ptr %part, i64 16
  %ndim = getelementptr inbounds i8, ptr %part, i64 8
  %11 = load i32, ptr %ndim, align 8
  %cmp4.i = icmp sgt i32 %11, 0
  br i1 %cmp4.i, label %for.body.preheader.i, label %land.lhs.true9

for.body.preheader.i:                             ; preds = %land.lhs.true6
  %wide.trip.count.i = zext nneg i32 %11 to i64
  br label %for.body.i

for.body.i:                                       ; preds = %for.body.i, %for.body.preheader.i
  %indvars.iv.i = phi i64 [ 0, %for.body.preheader.i ], [ %indvars.iv.next.i, %for.body.i ]
  %size.05.i = phi i64 [ 1, %for.body.preheader.i ], [ %mul.i, %for.body.i ]
  %arrayidx.i = getelementptr inbounds i64, ptr %dims, i64 %indvars.iv.i
  %12 = load i64, ptr %arrayidx.i, align 8
  %mul.i = mul nsw i64 %12, %size.05.i
  %indvars.iv.next.i = add nuw nsw i64 %indvars.iv.i, 1
  %exitcond.not.i = icmp eq i64 %indvars.iv.next.i, %wide.trip.count.i
  br i1 %exitcond.not.i, label %size_of.exit, label %for.body.i

size_of.exit:                                     ; preds = %for.body.i
  %cmp8 = icmp slt i64 %mul.i, 513
  br i1 %cmp8, label %land.lhs.true9, label %if.then19

land.lhs.true9:                                   ; preds = %land.lhs.true6, %size_of.exit
  %13 = load ptr, ptr %none, align 8
  %cmp11 = icmp eq ptr %call2, %13
  br i1 %cmp11, label %if.end, label %lor.lhs.false

lor.lhs.false:                                    ; preds = %land.lhs.true9
  %call12 = call fastcc i32 @takes(ptr noundef nonnull %known, ptr noundef %call2, ptr noundef nonnull %part, ptr noundef %whole)
  %tobool13.not = icmp eq i32 %call12, 0
  br i1 %tobool13.not, label %if.then19, label %if.end

if.end:                                           ; preds = %land.lhs.true9, %lor.lhs.false
  %call14 = call fastcc ptr @results_of(ptr noundef nonnull %known, ptr noundef %1, ptr noundef %whole, ptr noundef nonnull %part)
  %cmp15 = icmp eq ptr %call14, null
  br i1 %cmp15, label %if.then19, label %lor.lhs.false16

lor.lhs.false16:                                  ; preds = %if.end
  %call17 = call fastcc i32 @give(ptr noundef nonnull %known, ptr noundef %entries, ptr noundef %call1, ptr noundef %whole)
  %tobool18.not = icmp eq i32 %call17, 0
  br i1 %tobool18.not, label %if.then19, label %if.end20

if.then19:                                        ; preds = %key_of_write.exit, %land.lhs.true, %land.lhs.true4, %size_of.exit, %lor.lhs.false, %lor.lhs.false16, %if.end
  %results.083 = phi ptr [ %call14, %lor.lhs.false16 ], [ null, %if.end ], [ null, %lor.lhs.false ], [ null, %size_of.exit ], [ null, %land.lhs.true4 ], [ null, %land.lhs.true ], [ null, %key_of_write.exit ]
  call void @Py_DecRef(ptr noundef %results.083) #7
  br label %cleanup

if.end20:                                         ; preds = %lor.lhs.false16
  %descr.i = getelementptr inbounds i8, ptr %whole, i64 56
  %14 = load ptr, ptr %descr.i, align 8
  %type_num = getelementptr inbounds i8, ptr %14, i64 28
  %15 = load i32, ptr %type_num, align 4
  %16 = load ptr, ptr %none, align 8
  %cmp23.not = icmp eq ptr %call2, %16
  br i1 %cmp23.not, label %if.end34, label %if.then24

if.then24:                                        ; preds = %if.end20
  %call25 = call ptr @PyTuple_GetItem(ptr noundef nonnull %call14, i64 noundef 1) #7
  %data.i = getelementptr inbounds i8, ptr %call25, i64 16
  %17 = load ptr, ptr %data.i, align 8
  %strides.i = getelementptr inbounds i8, ptr %call25, i64 40
  %18 = load ptr, ptr %strides.i, align 8
  %19 = load ptr, ptr %part, align 8
  %strides = getelementptr inbounds i8, ptr %part, i64 80
  %20 = load i32, ptr %ndim, align 8
  call fastcc void @add(ptr noundef %17, ptr noundef %18, ptr noundef %19, ptr noundef nonnull %strides, ptr noundef nonnull %dims, i32 noundef %20, i32 noundef %15, i32 noundef 1)
  br label %if.end34

if.end34:                                         ; preds = %if.then24, %if.end20
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %zero.i) #7
  store double 0.000000e+00, ptr %zero.i, align 8
  call void @llvm.lifetime.start.p0(i64 64, ptr nonnull %still.i) #7
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(64) %still.i, i8 0, i64 64, i1 false)
  %21 = load ptr, ptr %part, align 8
  %strides.i77 = getelementptr inbounds i8, ptr %part, i64 80
  %22 = load i32, ptr %ndim, align 8
  call fastcc void @add(ptr noundef %21, ptr noundef nonnull readonly %strides.i77, ptr noundef nonnull %zero.i, ptr noundef nonnull %still.i, ptr noundef nonnull readonly %dims, i32 noundef %22, i32 noundef %15, i32 noundef 1)
  call void @llvm.lifetime.end.p0(i64 64, ptr nonnull %still.i) #7
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %zero.i) #7
  %keep_graph = getelementptr inbounds i8, ptr %known, i64 176
  %23 = load ptr, ptr %keep_graph, align 8
  %call.i = call ptr @PyObject_GetAttr(ptr noundef %task, ptr noundef %23) #7
  %cmp.i78 = icmp eq ptr %call.i, null
  br i1 %cmp.i78, label %if.then.i, label %is_true.exit

if.then.i:                                        ; preds = %if.end34
  call void @PyErr_Clear() #7
  br label %is_true.exit

is_true.exit:                                     ; preds = %if.end34, %if.then.i
  call void @Py_DecRef(ptr noundef %call.i) #7
  %true_.i = getelementptr inbounds i8, ptr %known, i64 48
  %24 = load ptr, ptr %true_.i, align 8
  %cmp1.i.not = icmp eq ptr %call.i, %24
  br i1 %cmp1.i.not, label %cleanup, label %if.then37

if.then37:                                        ; preds = %is_true.exit
  %release = getelementptr inbounds i8, ptr %known, i64 192
  %25 = load ptr, ptr %release, align 8
  %call38 = call ptr (ptr, ptr, ...) @PyObject_CallMethodObjArgs(ptr noundef %node, ptr noundef %25, ptr noundef null) #7
  call void @Py_DecRef(ptr noundef %call38) #7
  %cmp39 = icmp eq ptr %call38, null
  br i1 %cmp39, label %if.then40, label %cleanup

if.then40:                                        ; preds = %if.then37
  call void @PyErr_Clear() #7
  br label %cleanup

cleanup:                                          ; preds = %is_true.exit, %if.then40, %if.then37, %if.then19
  %retval.0 = phi ptr [ null, %if.then19 ], [ %call14, %if.then37 ], [ %call14, %if.then40 ], [ %call14, %is_true.exit ]
  call void @llvm.lifetime.end.p0(i64 144, ptr nonnull %part) #7
  ret ptr %retval.0
}

define internal ptr @take_out(ptr nocapture noundef readonly %known, ptr noundef %task, ptr noundef %entries, ptr noundef %node, ptr noundef %whole) unnamed_addr #0 {
entry:
  %zero.i = alloca double, align 8
  %still.i = alloca %struct.lengths, align 8
  %rows = alloca %struct.rows, align 8
  %part = alloca %struct.part, align 8
  %row = alloca %struct.part, align 8
  %next_of_node = getelementptr inbounds i8, ptr %known, i64 256
  %0 = load i64, ptr %next_of_node, align 8
  %add.ptr = getelementptr inbounds i8, ptr %node, i64 %0
  %1 = load ptr, ptr %add.ptr, align 8
  %params_of_part = getelementptr inbounds i8, ptr %known, i64 296
  %2 = load i64, ptr %params_of_part, align 8
  %add.ptr1 = getelementptr inbounds i8, ptr %node, i64 %2
  %3 = load ptr, ptr %add.ptr1, align 8
  %call = tail call ptr @PyTuple_GetItem(ptr noundef %1, i64 noundef 0) #7
  %call2 = tail call ptr @PyTuple_GetItem(ptr noundef %1, i64 noundef 1) #7
  %accumulate3 = getelementptr inbounds i8, ptr %known, i64 224
  %4 = load ptr, ptr %accumulate3, align 8
  %call4 = tail call ptr @PyDict_GetItemWithError(ptr noundef %3, ptr noundef %4) #7
  call void @llvm.lifetime.start.p0(i64 48, ptr nonnull %rows) #7
  call void @llvm.lifetime.start.p0(i64 144, ptr nonnull %part) #7
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(144) %part, i8 0, i64 144, i1 false)
  %false_ = getelementptr inbounds i8, ptr %known, i64 56
  %5 = load ptr, ptr %false_, align 8
  %cmp.not = icmp eq ptr %call4, %5
  br i1 %cmp.not, label %lor.lhs.false, label %cleanup72

lor.lhs.false:                                    ; preds = %entry
  %none = getelementptr inbounds i8, ptr %known, i64 40
  %6 = load ptr, ptr %none, align 8
  %cmp5 = icmp eq ptr %call, %6
  br i1 %cmp5, label %cleanup72, label %lor.lhs.false6

lor.lhs.false6:                                   ; preds = %lor.lhs.false
  %call7 = call fastcc i32 @find_rows(ptr noundef nonnull %known, ptr noundef nonnull %node, ptr noundef %whole, ptr noundef nonnull %rows)
  %tobool = icmp eq i32 %call7, 0
  %count = getelementptr inbounds i8, ptr %rows, i64 8
  %7 = load i64, ptr %count, align 8
  %cmp9 = icmp sgt i64 %7, 64
  %or.cond = select i1 %tobool, i1 true, i1 %cmp9
  br i1 %or.cond, label %cleanup72, label %if.end

if.end:                                           ; preds = %lor.lhs.false6
  %8 = load ptr, ptr %none, align 8
  %cmp11.not = icmp eq ptr %call2, %8
  br i1 %cmp11.not, label %if.end37, label %if.then12

if.then12:                                        ; preds = %if.end
  %rest_data = getelementptr inbounds i8, ptr %known, i64 200
  %9 = load ptr, ptr %rest_data, align 8
  %call13 = tail call ptr @PyObject_GetAttr(ptr noundef nonnull %node, ptr noundef %9) #7
  %call14 = tail call ptr @PyTuple_GetItem(ptr noundef %call13, i64 noundef 0) #7
  %nd.i = getelementptr inbounds i8, ptr %call14, i64 24
  %10 = load i32, ptr %nd.i, align 8
  %cmp16142 = icmp sgt i32 %10, 0
  br i1 %cmp16142, label %for.body.lr.ph, label %for.cond20.preheader

for.body.lr.ph:                                   ; preds = %if.then12
  %ndim.i = getelementptr inbounds i8, ptr %part, i64 8
  %dimensions.i = getelementptr inbounds i8, ptr %call14, i64 32
  %dims.i = getelementptr inbounds i8, ptr %part, i64 16
  %strides.i = getelementptr inbounds i8, ptr %part, i64 80
  %11 = zext nneg i32 %10 to i64
  br label %for.body

for.cond20.preheader:                             ; preds = %keep_axis.exit, %if.then12
  %nd.i119 = getelementptr inbounds i8, ptr %whole, i64 24
  %12 = load i32, ptr %nd.i119, align 8
  %cmp22144 = icmp sgt i32 %12, 1
  br i1 %cmp22144, label %for.body24.lr.ph, label %for.cond.cleanup23

for.body24.lr.ph:                                 ; preds = %for.cond20.preheader
  %ndim.i121 = getelementptr inbounds i8, ptr %part, i64 8
  %dimensions.i120 = getelementptr inbounds i8, ptr %whole, i64 32
  %dims.i124 = getelementptr inbounds i8, ptr %part, i64 16
  %strides.i127 = getelementptr inbounds i8, ptr %part, i64 80
  %wide.trip.count = zext nneg i32 %12 to i64
  br label %for.body24

for.body:                                         ; preds = %for.body.lr.ph, %keep_axis.exit
  %indvars.iv = phi i64 [ 0, %for.body.lr.ph ], [ %indvars.iv.next, %keep_axis.exit ]
  %13 = load i32, ptr %ndim.i, align 8
  %cmp.i = icmp eq i32 %13, 8
  br i1 %cmp.i, label %keep_axis.exit, label %if.end.i

if.end.i:                                         ; preds = %for.body
  %14 = load ptr, ptr %dimensions.i, align 8
  %arrayidx = getelementptr inbounds i64, ptr %14, i64 %indvars.iv
  %15 = load i64, ptr %arrayidx, align 8
  %idxprom.i = sext i32 %13 to i64
  %arrayidx.i = getelementptr inbounds [8 x i64], ptr %dims.i, i64 0, i64 %idxprom.i
  store i64 %15, ptr %arrayidx.i, align 8
  %16 = load i32, ptr %ndim.i, align 8
  %inc.i = add nsw i32 %16, 1
  store i32 %inc.i, ptr %ndim.i, align 8
  %idxprom4.i = sext i32 %16 to i64
  %arrayidx5.i = getelementptr inbounds [8 x i64], ptr %strides.i, i64 0, i64 %idxprom4.i
  store i64 0, ptr %arrayidx5.i, align 8
  br label %keep_axis.exit

keep_axis.exit:                                   ; preds = %for.body, %if.end.i
  %indvars.iv.next = add nuw nsw i64 %indvars.iv, 1
  %cmp16 = icmp ult i64 %indvars.iv.next, %11
  br i1 %cmp16, label %for.body, label %for.cond20.preheader

for.cond.cleanup23:                               ; preds = %keep_axis.exit132, %for.cond20.preheader
  tail call void @Py_DecRef(ptr noundef %call13) #7
  %call32 = call fastcc i32 @takes(ptr noundef %known, ptr noundef %call2, ptr noundef nonnull %part, ptr noundef nonnull %whole)
  %tobool33.not.not = icmp eq i32 %call32, 0
  br i1 %tobool33.not.not, label %cleanup72, label %if.end37

for.body24:                                       ; preds = %for.body24.lr.ph, %keep_axis.exit132
  %indvars.iv151 = phi i64 [ 1, %for.body24.lr.ph ], [ %indvars.iv.next152, %keep_axis.exit132 ]
  %17 = load i32, ptr %ndim.i121, align 8
  %cmp.i122 = icmp eq i32 %17, 8
  br i1 %cmp.i122, label %keep_axis.exit132, label %if.end.i123

if.end.i123:                                      ; preds = %for.body24
  %18 = load ptr, ptr %dimensions.i120, align 8
  %arrayidx27 = getelementptr inbounds i64, ptr %18, i64 %indvars.iv151
  %19 = load i64, ptr %arrayidx27, align 8
  %idxprom.i125 = sext i32 %17 to i64
  %arrayidx.i126 = getelementptr inbounds [8 x i64], ptr %dims.i124, i64 0, i64 %idxprom.i125
  store i64 %19, ptr %arrayidx.i126, align 8
  %20 = load i32, ptr %ndim.i121, align 8
  %inc.i128 = add nsw i32 %20, 1
  store i32 %inc.i128, ptr %ndim.i121, align 8
  %idxprom4.i129 = sext i32 %20 to i64
  %arrayidx5.i130 = getelementptr inbounds [8 x i64], ptr %strides.i127, i64 0, i64 %idxprom4.i129
  store i64 0, ptr %arrayidx5.i130, align 8
  br label %keep_axis.exit132

keep_axis.exit132:                                ; preds = %for.body24, %if.end.i123
  %indvars.iv.next152 = add nuw nsw i64 %indvars.iv151, 1
  %exitcond.not = icmp eq i64 %indvars.iv.next152, %wide.trip.count
  br i1 %exitcond.not, label %for.cond.cleanup23, label %for.body24

if.end37:                                         ; preds = %for.cond.cleanup23, %if.end
  %call38 = call fastcc ptr @results_of(ptr noundef %known, ptr noundef %1, ptr noundef %whole, ptr noundef nonnull %part)
  %cmp39 = icmp eq ptr %call38, null
  br i1 %cmp39, label %if.then43, label %lor.lhs.false40

lor.lhs.false40:                                  ; preds = %if.end37
  %call41 = call fastcc i32 @give(ptr noundef %known, ptr noundef %entries, ptr noundef %call, ptr noundef %whole)
  %tobool42.not = icmp eq i32 %call41, 0
  br i1 %tobool42.not, label %if.then43, label %if.end44

if.then43:                                        ; preds = %lor.lhs.false40, %if.end37
  call void @Py_DecRef(ptr noundef %call38) #7
  br label %cleanup72

if.end44:                                         ; preds = %lor.lhs.false40
  %data.i = getelementptr inbounds i8, ptr %whole, i64 16
  %21 = load ptr, ptr %data.i, align 8
  call void @llvm.lifetime.start.p0(i64 144, ptr nonnull %row) #7
  %22 = getelementptr inbounds i8, ptr %row, i64 8
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(144) %22, i8 0, i64 136, i1 false)
  %ndim = getelementptr inbounds i8, ptr %row, i64 8
  store i32 1, ptr %ndim, align 8
  %dims = getelementptr inbounds i8, ptr %row, i64 16
  %width = getelementptr inbounds i8, ptr %rows, i64 24
  %23 = load i64, ptr %width, align 8
  store i64 %23, ptr %dims, align 8
  %strides = getelementptr inbounds i8, ptr %row, i64 80
  %bytes = getelementptr inbounds i8, ptr %rows, i64 32
  %24 = load i64, ptr %bytes, align 8
  store i64 %24, ptr %strides, align 8
  %cmp51147 = icmp sgt i64 %7, 0
  br i1 %cmp51147, label %for.body53.lr.ph, label %for.cond.cleanup52

for.body53.lr.ph:                                 ; preds = %if.end44
  %25 = load ptr, ptr %rows, align 8
  %length.i = getelementptr inbounds i8, ptr %rows, i64 16
  %26 = load i64, ptr %length.i, align 8
  %mul = mul i64 %24, %23
  %type.i = getelementptr inbounds i8, ptr %rows, i64 40
  %27 = load i32, ptr %type.i, align 8
  %cmp22.i.i = icmp eq i32 %27, 12
  %cmp26101.i.i = icmp sgt i64 %23, 0
  br label %for.body53

for.cond.cleanup52:                               ; preds = %if.end66, %if.end44
  %is_held.i = getelementptr inbounds i8, ptr %rows, i64 44
  %28 = load i32, ptr %is_held.i, align 4
  %tobool.not.i = icmp eq i32 %28, 0
  br i1 %tobool.not.i, label %let_go.exit, label %land.lhs.true.i

land.lhs.true.i:                                  ; preds = %for.cond.cleanup52
  %keep_graph.i = getelementptr inbounds i8, ptr %known, i64 176
  %29 = load ptr, ptr %keep_graph.i, align 8
  %call.i.i = call ptr @PyObject_GetAttr(ptr noundef %task, ptr noundef %29) #7
  %cmp.i.i = icmp eq ptr %call.i.i, null
  br i1 %cmp.i.i, label %if.then.i.i, label %is_true.exit.i

if.then.i.i:                                      ; preds = %land.lhs.true.i
  call void @PyErr_Clear() #7
  br label %is_true.exit.i

is_true.exit.i:                                   ; preds = %if.then.i.i, %land.lhs.true.i
  call void @Py_DecRef(ptr noundef %call.i.i) #7
  %true_.i.i = getelementptr inbounds i8, ptr %known, i64 48
  %30 = load ptr, ptr %true_.i.i, align 8
  %cmp1.i.not.i = icmp eq ptr %call.i.i, %30
  br i1 %cmp1.i.not.i, label %let_go.exit, label %land.lhs.true2.i

land.lhs.true2.i:                                 ; preds = %is_true.exit.i
  %rest_data.i = getelementptr inbounds i8, ptr %known, i64 200
  %31 = load ptr, ptr %rest_data.i, align 8
  %32 = load ptr, ptr %none, align 8
  %call3.i = call i32 @PyObject_SetAttr(ptr noundef %node, ptr noundef %31, ptr noundef %32) #7
  %cmp.i133 = icmp slt i32 %call3.i, 0
  br i1 %cmp.i133, label %if.then.i, label %let_go.exit

if.then.i:                                        ; preds = %land.lhs.true2.i
  call void @PyErr_Clear() #7
  br label %let_go.exit

let_go.exit:                                      ; preds = %for.cond.cleanup52, %is_true.exit.i, %land.lhs.true2.i, %if.then.i
  call void @llvm.lifetime.end.p0(i64 144, ptr nonnull %row) #7
  br label %cleanup72

for.body53:                                       ; preds = %for.body53.lr.ph, %if.end66
  %k48.0148.in = phi i64 [ %7, %for.body53.lr.ph ], [ %k48.0148, %if.end66 ]
  %k48.0148 = add nsw i64 %k48.0148.in, -1
  %arrayidx.i135 = getelementptr inbounds i64, ptr %25, i64 %k48.0148
  %33 = load i64, ptr %arrayidx.i135, align 8
  %cmp.i136 = icmp slt i64 %33, 0
  %cond.i = select i1 %cmp.i136, i64 %26, i64 0
  %add.i = add nsw i64 %cond.i, %33
  %mul57 = mul i64 %mul, %add.i
  %add.ptr58 = getelementptr inbounds i8, ptr %21, i64 %mul57
  store ptr %add.ptr58, ptr %row, align 8
  %34 = load ptr, ptr %none, align 8
  %cmp61.not = icmp eq ptr %call2, %34
  br i1 %cmp61.not, label %if.end66, label %if.then62

if.then62:                                        ; preds = %for.body53
  %call63 = call ptr @PyTuple_GetItem(ptr noundef nonnull %call38, i64 noundef 1) #7
  %data.i137 = getelementptr inbounds i8, ptr %call63, i64 16
  %35 = load ptr, ptr %data.i137, align 8
  %mul2.i = mul nsw i64 %mul, %k48.0148
  %add.ptr.i = getelementptr inbounds i8, ptr %35, i64 %mul2.i
  br i1 %cmp22.i.i, label %for.cond25.preheader.i.i, label %for.cond40.preheader.i.i

for.cond40.preheader.i.i:                         ; preds = %if.then62
  br i1 %cmp26101.i.i, label %for.body43.i.i, label %if.end66

for.cond25.preheader.i.i:                         ; preds = %if.then62
  br i1 %cmp26101.i.i, label %for.body28.i.i, label %if.end66

for.body28.i.i:                                   ; preds = %for.cond25.preheader.i.i, %for.body28.i.i
  %k24.0104.i.i = phi i64 [ %inc35.i.i, %for.body28.i.i ], [ 0, %for.cond25.preheader.i.i ]
  %to.addr.0103.i.i = phi ptr [ %add.ptr36.i.i, %for.body28.i.i ], [ %add.ptr.i, %for.cond25.preheader.i.i ]
  %from.addr.0102.i.i = phi ptr [ %add.ptr37.i.i, %for.body28.i.i ], [ %add.ptr58, %for.cond25.preheader.i.i ]
  %36 = load double, ptr %from.addr.0102.i.i, align 8
  store double %36, ptr %to.addr.0103.i.i, align 8
  %inc35.i.i = add nuw nsw i64 %k24.0104.i.i, 1
  %add.ptr36.i.i = getelementptr inbounds i8, ptr %to.addr.0103.i.i, i64 %24
  %add.ptr37.i.i = getelementptr inbounds i8, ptr %from.addr.0102.i.i, i64 %24
  %exitcond109.not.i.i = icmp eq i64 %inc35.i.i, %23
  br i1 %exitcond109.not.i.i, label %if.end66, label %for.body28.i.i

for.body43.i.i:                                   ; preds = %for.cond40.preheader.i.i, %for.body43.i.i
  %k39.0100.i.i = phi i64 [ %inc51.i.i, %for.body43.i.i ], [ 0, %for.cond40.preheader.i.i ]
  %to.addr.199.i.i = phi ptr [ %add.ptr52.i.i, %for.body43.i.i ], [ %add.ptr.i, %for.cond40.preheader.i.i ]
  %from.addr.198.i.i = phi ptr [ %add.ptr53.i.i, %for.body43.i.i ], [ %add.ptr58, %for.cond40.preheader.i.i ]
  %37 = load float, ptr %from.addr.198.i.i, align 4
  store float %37, ptr %to.addr.199.i.i, align 4
  %inc51.i.i = add nuw nsw i64 %k39.0100.i.i, 1
  %add.ptr52.i.i = getelementptr inbounds i8, ptr %to.addr.199.i.i, i64 %24
  %add.ptr53.i.i = getelementptr inbounds i8, ptr %from.addr.198.i.i, i64 %24
  %exitcond.not.i.i = icmp eq i64 %inc51.i.i, %23
  br i1 %exitcond.not.i.i, label %if.end66, label %for.body43.i.i

if.end66:                                         ; preds = %for.body43.i.i, %for.body28.i.i, %for.cond25.preheader.i.i, %for.cond40.preheader.i.i, %for.body53
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %zero.i) #7
  store double 0.000000e+00, ptr %zero.i, align 8
  call void @llvm.lifetime.start.p0(i64 64, ptr nonnull %still.i) #7
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(64) %still.i, i8 0, i64 64, i1 false)
  call fastcc void @add(ptr noundef %add.ptr58, ptr noundef nonnull readonly %strides, ptr noundef nonnull %zero.i, ptr noundef nonnull %still.i, ptr noundef nonnull readonly %dims, i32 noundef 1, i32 noundef %27, i32 noundef 1)
  call void @llvm.lifetime.end.p0(i64 64, ptr nonnull %still.i) #7
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %zero.i) #7
  %cmp51 = icmp sgt i64 %k48.0148.in, 1
  br i1 %cmp51, label %for.body53, label %for.cond.cleanup52

cleanup72:                                        ; preds = %entry, %lor.lhs.false, %lor.lhs.false6, %for.cond.cleanup23, %let_go.exit, %if.then43
  %retval.1 = phi ptr [ null, %if.then43 ], [ %call38, %let_go.exit ], [ null, %for.cond.cleanup23 ], [ null, %lor.lhs.false6 ], [ null, %lor.lhs.false ], [ null, %entry ]
  call void @llvm.lifetime.end.p0(i64 144, ptr nonnull %part) #7
  call void @llvm.lifetime.end.p0(i64 48, ptr nonnull %rows) #7
  ret ptr %retval.1
}

declare ptr @PyDict_GetItemWithError(ptr noundef, ptr noundef) local_unnamed_addr #2

declare ptr @PyTuple_GetItem(ptr noundef, i64 noundef) local_unnamed_addr #2

define internal fastcc i32 @find_part(ptr nocapture noundef readonly %known, ptr nocapture noundef readonly %whole, ptr noundef %key, ptr nocapture noundef %part) unnamed_addr #0 {
entry:
  %start = alloca i64, align 8
  %stop = alloca i64, align 8
  %step = alloca i64, align 8
  %nd.i = getelementptr inbounds i8, ptr %whole, i64 24
  %0 = load i32, ptr %nd.i, align 8
  %dimensions.i = getelementptr inbounds i8, ptr %whole, i64 32
  %1 = load ptr, ptr %dimensions.i, align 8
  %strides.i = getelementptr inbounds i8, ptr %whole, i64 40
  %2 = load ptr, ptr %strides.i, align 8
  %call3 = tail call i64 @PyTuple_Size(ptr noundef %key) #7
  %cmp234 = icmp sgt i64 %call3, 0
  br i1 %cmp234, label %for.body.lr.ph, label %for.cond.cleanup.thread

for.cond.cleanup.thread:                          ; preds = %entry
  %data.i269 = getelementptr inbounds i8, ptr %whole, i64 16
  %3 = load ptr, ptr %data.i269, align 8
  store ptr %3, ptr %part, align 8
  %ndim8270 = getelementptr inbounds i8, ptr %part, i64 8
  store i32 0, ptr %ndim8270, align 8
  br label %cleanup108

for.body.lr.ph:                                   ; preds = %entry
  %none = getelementptr inbounds i8, ptr %known, i64 40
  %ellipsis = getelementptr inbounds i8, ptr %known, i64 64
  br label %for.body

for.cond.cleanup:                                 ; preds = %land.end
  %data.i = getelementptr inbounds i8, ptr %whole, i64 16
  %4 = load ptr, ptr %data.i, align 8
  store ptr %4, ptr %part, align 8
  %ndim8 = getelementptr inbounds i8, ptr %part, i64 8
  store i32 0, ptr %ndim8, align 8
  %none16 = getelementptr inbounds i8, ptr %known, i64 40
  %ellipsis20 = getelementptr inbounds i8, ptr %known, i64 64
  %integer = getelementptr inbounds i8, ptr %known, i64 8
  %slice = getelementptr inbounds i8, ptr %known, i64 16
  %dims.i199 = getelementptr inbounds i8, ptr %part, i64 16
  %strides.i202 = getelementptr inbounds i8, ptr %part, i64 80
  %sub = sub nsw i32 %0, %add
  %cmp24237 = icmp slt i32 %sub, 1
  br label %for.body13

for.body:                                         ; preds = %for.body.lr.ph, %land.end
  %taken.0236 = phi i32 [ 0, %for.body.lr.ph ], [ %add, %land.end ]
  %k.0235 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %land.end ]
  %call4 = tail call ptr @PyTuple_GetItem(ptr noundef %key, i64 noundef %k.0235) #7
  %5 = load ptr, ptr %none, align 8
  %cmp5.not = icmp eq ptr %call4, %5
  br i1 %cmp5.not, label %land.end, label %land.rhs

land.rhs:                                         ; preds = %for.body
  %6 = load ptr, ptr %ellipsis, align 8
  %cmp6 = icmp ne ptr %call4, %6
  br label %land.end

land.end:                                         ; preds = %land.rhs, %for.body
  %7 = phi i1 [ false, %for.body ], [ %cmp6, %land.rhs ]
  %land.ext = zext i1 %7 to i32
  %add = add nuw nsw i32 %taken.0236, %land.ext
  %inc = add nuw nsw i64 %k.0235, 1
  %exitcond.not = icmp eq i64 %inc, %call3
  br i1 %exitcond.not, label %for.cond.cleanup, label %for.body

for.body13:                                       ; preds = %for.cond.cleanup, %for.inc106
  %cmp11.not244 = phi i1 [ false, %for.cond.cleanup ], [ %cmp11.not, %for.inc106 ]
  %axis.0243 = phi i32 [ 0, %for.cond.cleanup ], [ %axis.6, %for.inc106 ]
  %k9.0242 = phi i64 [ 0, %for.cond.cleanup ], [ %inc107, %for.inc106 ]
  %call15 = call ptr @PyTuple_GetItem(ptr noundef %key, i64 noundef %k9.0242) #7
  %8 = load ptr, ptr %none16, align 8
  %cmp17 = icmp eq ptr %call15, %8
  br i1 %cmp17, label %if.then, label %if.else

if.then:                                          ; preds = %for.body13
  %9 = load i32, ptr %ndim8, align 8
  %cmp.i = icmp eq i32 %9, 8
  br i1 %cmp.i, label %cleanup108, label %keep_axis.exit

keep_axis.exit:                                   ; preds = %if.then
  %idxprom.i = sext i32 %9 to i64
  %arrayidx.i = getelementptr inbounds [8 x i64], ptr %dims.i199, i64 0, i64 %idxprom.i
  store i64 1, ptr %arrayidx.i, align 8
  %10 = load i32, ptr %ndim8, align 8
  %inc.i = add nsw i32 %10, 1
  store i32 %inc.i, ptr %ndim8, align 8
  %idxprom4.i = sext i32 %10 to i64
  %arrayidx5.i = getelementptr inbounds [8 x i64], ptr %strides.i202, i64 0, i64 %idxprom4.i
  store i64 0, ptr %arrayidx5.i, align 8
  br label %for.inc106

if.else:                                          ; preds = %for.body13
  %11 = load ptr, ptr %ellipsis20, align 8
  %cmp21 = icmp eq ptr %call15, %11
  br i1 %cmp21, label %if.then22, label %if.else37

if.then22:                                        ; preds = %if.else
  br i1 %cmp24237, label %for.inc106, label %for.body26.preheader

for.body26.preheader:                             ; preds = %if.then22
  %12 = sext i32 %axis.0243 to i64
  %smax = call i32 @llvm.smax.i32(i32 %axis.0243, i32 %0)
  %wide.trip.count = sext i32 %smax to i64
  br label %for.body26

for.body26:                                       ; preds = %for.body26.preheader, %for.inc34
  %indvars.iv = phi i64 [ %12, %for.body26.preheader ], [ %indvars.iv.next, %for.inc34 ]
  %span.0239 = phi i32 [ %sub, %for.body26.preheader ], [ %dec, %for.inc34 ]
  %exitcond266.not = icmp eq i64 %indvars.iv, %wide.trip.count
  br i1 %exitcond266.not, label %cleanup108, label %lor.lhs.false

lor.lhs.false:                                    ; preds = %for.body26
  %13 = load i32, ptr %ndim8, align 8
  %cmp.i184 = icmp eq i32 %13, 8
  br i1 %cmp.i184, label %cleanup108.loopexit.split.loop.exit284, label %for.inc34

for.inc34:                                        ; preds = %lor.lhs.false
  %arrayidx29 = getelementptr inbounds i64, ptr %2, i64 %indvars.iv
  %14 = load i64, ptr %arrayidx29, align 8
  %arrayidx = getelementptr inbounds i64, ptr %1, i64 %indvars.iv
  %15 = load i64, ptr %arrayidx, align 8
  %idxprom.i187 = sext i32 %13 to i64
  %arrayidx.i188 = getelementptr inbounds [8 x i64], ptr %dims.i199, i64 0, i64 %idxprom.i187
  store i64 %15, ptr %arrayidx.i188, align 8
  %16 = load i32, ptr %ndim8, align 8
  %inc.i190 = add nsw i32 %16, 1
  store i32 %inc.i190, ptr %ndim8, align 8
  %idxprom4.i191 = sext i32 %16 to i64
  %arrayidx5.i192 = getelementptr inbounds [8 x i64], ptr %strides.i202, i64 0, i64 %idxprom4.i191
  store i64 %14, ptr %arrayidx5.i192, align 8
  %dec = add nsw i32 %span.0239, -1
  %indvars.iv.next = add nsw i64 %indvars.iv, 1
  %cmp24 = icmp slt i32 %span.0239, 2
  br i1 %cmp24, label %for.inc106.loopexit, label %for.body26

if.else37:                                        ; preds = %if.else
  %cmp38.not = icmp slt i32 %axis.0243, %0
  br i1 %cmp38.not, label %if.else40, label %cleanup108

if.else40:                                        ; preds = %if.else37
  %ob_type.i = getelementptr inbounds i8, ptr %call15, i64 8
  %17 = load ptr, ptr %ob_type.i, align 8
  %18 = load ptr, ptr %integer, align 8
  %cmp42 = icmp eq ptr %17, %18
  br i1 %cmp42, label %if.then43, label %if.else62

if.then43:                                        ; preds = %if.else40
  %call44 = call i64 @PyLong_AsSsize_t(ptr noundef nonnull %call15) #7
  %cmp45 = icmp slt i64 %call44, 0
  br i1 %cmp45, label %cond.true, label %cond.end

cond.true:                                        ; preds = %if.then43
  %idxprom46 = sext i32 %axis.0243 to i64
  %arrayidx47 = getelementptr inbounds i64, ptr %1, i64 %idxprom46
  %19 = load i64, ptr %arrayidx47, align 8
  br label %cond.end

cond.end:                                         ; preds = %if.then43, %cond.true
  %cond = phi i64 [ %19, %cond.true ], [ 0, %if.then43 ]
  %add48 = add nsw i64 %cond, %call44
  %cmp49 = icmp slt i64 %add48, 0
  br i1 %cmp49, label %cleanup60, label %lor.lhs.false50

lor.lhs.false50:                                  ; preds = %cond.end
  %idxprom51 = sext i32 %axis.0243 to i64
  %arrayidx52 = getelementptr inbounds i64, ptr %1, i64 %idxprom51
  %20 = load i64, ptr %arrayidx52, align 8
  %cmp53.not = icmp slt i64 %add48, %20
  br i1 %cmp53.not, label %cleanup60.thread, label %cleanup60

cleanup60.thread:                                 ; preds = %lor.lhs.false50
  %inc56 = add nsw i32 %axis.0243, 1
  %arrayidx58 = getelementptr inbounds i64, ptr %2, i64 %idxprom51
  %21 = load i64, ptr %arrayidx58, align 8
  %mul = mul nsw i64 %21, %add48
  %22 = load ptr, ptr %part, align 8
  %add.ptr = getelementptr inbounds i8, ptr %22, i64 %mul
  store ptr %add.ptr, ptr %part, align 8
  br label %for.inc106

cleanup60:                                        ; preds = %cond.end, %lor.lhs.false50
  call void @PyErr_Clear() #7
  br label %cleanup108

if.else62:                                        ; preds = %if.else40
  %23 = load ptr, ptr %slice, align 8
  %cmp64 = icmp eq ptr %17, %23
  br i1 %cmp64, label %if.then65, label %cleanup108

if.then65:                                        ; preds = %if.else62
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %start) #7
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %stop) #7
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %step) #7
  %call66 = call i32 @PySlice_Unpack(ptr noundef nonnull %call15, ptr noundef nonnull %start, ptr noundef nonnull %stop, ptr noundef nonnull %step) #7
  %cmp67 = icmp slt i32 %call66, 0
  br i1 %cmp67, label %if.then68, label %if.end69

if.then68:                                        ; preds = %if.then65
  call void @PyErr_Clear() #7
  br label %cleanup92.thread

if.end69:                                         ; preds = %if.then65
  %idxprom70 = sext i32 %axis.0243 to i64
  %arrayidx71 = getelementptr inbounds i64, ptr %1, i64 %idxprom70
  %24 = load i64, ptr %arrayidx71, align 8
  %25 = load i64, ptr %step, align 8
  %call72 = call i64 @PySlice_AdjustIndices(i64 noundef %24, ptr noundef nonnull %start, ptr noundef nonnull %stop, i64 noundef %25) #7
  %arrayidx74 = getelementptr inbounds i64, ptr %2, i64 %idxprom70
  %26 = load i32, ptr %ndim8, align 8
  %cmp.i197 = icmp eq i32 %26, 8
  br i1 %cmp.i197, label %cleanup92.thread, label %if.end79

if.end79:                                         ; preds = %if.end69
  %27 = load i64, ptr %step, align 8
  %28 = load i64, ptr %arrayidx74, align 8
  %mul75 = mul nsw i64 %28, %27
  %idxprom.i200 = sext i32 %26 to i64
  %arrayidx.i201 = getelementptr inbounds [8 x i64], ptr %dims.i199, i64 0, i64 %idxprom.i200
  store i64 %call72, ptr %arrayidx.i201, align 8
  %29 = load i32, ptr %ndim8, align 8
  %inc.i203 = add nsw i32 %29, 1
  store i32 %inc.i203, ptr %ndim8, align 8
  %idxprom4.i204 = sext i32 %29 to i64
  %arrayidx5.i205 = getelementptr inbounds [8 x i64], ptr %strides.i202, i64 0, i64 %idxprom4.i204
  store i64 %mul75, ptr %arrayidx5.i205, align 8
  %tobool80.not = icmp eq i64 %call72, 0
  br i1 %tobool80.not, label %cleanup92, label %cond.true81

cond.true81:                                      ; preds = %if.end79
  %30 = load i64, ptr %start, align 8
  %31 = load i64, ptr %arrayidx74, align 8
  %mul84 = mul nsw i64 %31, %30
  br label %cleanup92

cleanup92.thread:                                 ; preds = %if.end69, %if.then68
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %step) #7
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %stop) #7
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %start) #7
  br label %cleanup108

cleanup92:                                        ; preds = %cond.true81, %if.end79
  %cond87 = phi i64 [ %mul84, %cond.true81 ], [ 0, %if.end79 ]
  %32 = load ptr, ptr %part, align 8
  %add.ptr89 = getelementptr inbounds i8, ptr %32, i64 %cond87
  store ptr %add.ptr89, ptr %part, align 8
  %inc90 = add nsw i32 %axis.0243, 1
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %step) #7
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %stop) #7
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %start) #7
  br label %for.inc106

for.inc106.loopexit:                              ; preds = %for.inc34
  %33 = trunc nsw i64 %indvars.iv.next to i32
  br label %for.inc106

for.inc106:                                       ; preds = %for.inc106.loopexit, %if.then22, %cleanup92, %cleanup60.thread, %keep_axis.exit
  %axis.6 = phi i32 [ %axis.0243, %keep_axis.exit ], [ %inc90, %cleanup92 ], [ %inc56, %cleanup60.thread ], [ %axis.0243, %if.then22 ], [ %33, %for.inc106.loopexit ]
  %inc107 = add nuw nsw i64 %k9.0242, 1
  %cmp11.not = icmp sge i64 %inc107, %call3
  %exitcond267 = icmp eq i64 %inc107, %call3
  br i1 %exitcond267, label %cleanup108, label %for.body13

cleanup108.loopexit.split.loop.exit284:           ; preds = %lor.lhs.false
  %34 = trunc nsw i64 %indvars.iv to i32
  br label %cleanup108

cleanup108:                                       ; preds = %for.inc106, %if.else37, %if.else62, %if.then, %for.body26, %cleanup108.loopexit.split.loop.exit284, %for.cond.cleanup.thread, %cleanup92.thread, %cleanup60
  %cmp11.not227 = phi i1 [ %cmp11.not244, %cleanup92.thread ], [ %cmp11.not244, %cleanup60 ], [ true, %for.cond.cleanup.thread ], [ %cmp11.not244, %cleanup108.loopexit.split.loop.exit284 ], [ %cmp11.not244, %for.body26 ], [ %cmp11.not, %for.inc106 ], [ %cmp11.not244, %if.else37 ], [ %cmp11.not244, %if.else62 ], [ %cmp11.not244, %if.then ]
  %axis.7 = phi i32 [ %axis.0243, %cleanup92.thread ], [ %axis.0243, %cleanup60 ], [ 0, %for.cond.cleanup.thread ], [ %34, %cleanup108.loopexit.split.loop.exit284 ], [ %smax, %for.body26 ], [ %axis.6, %for.inc106 ], [ %axis.0243, %if.else37 ], [ %axis.0243, %if.else62 ], [ %axis.0243, %if.then ]
  %cmp111 = icmp eq i32 %axis.7, %0
  %narrow = select i1 %cmp11.not227, i1 %cmp111, i1 false
  %retval.8 = zext i1 %narrow to i32
  ret i32 %retval.8
}

define internal fastcc range(i32 0, 2) i32 @takes(ptr nocapture noundef readonly %known, ptr nocapture noundef readonly %node, ptr nocapture noundef readonly %part, ptr nocapture noundef readonly %whole) unnamed_addr #0 {
entry:
  %spec_of_node = getelementptr inbounds i8, ptr %known, i64 272
  %0 = load i64, ptr %spec_of_node, align 8
  %add.ptr = getelementptr inbounds i8, ptr %node, i64 %0
  %1 = load ptr, ptr %add.ptr, align 8
  %shape1 = getelementptr inbounds i8, ptr %known, i64 232
  %2 = load ptr, ptr %shape1, align 8
  %call = tail call ptr @PyObject_GetAttr(ptr noundef %1, ptr noundef %2) #7
  %dtype2 = getelementptr inbounds i8, ptr %known, i64 240
  %3 = load ptr, ptr %dtype2, align 8
  %call3 = tail call ptr @PyObject_GetAttr(ptr noundef %1, ptr noundef %3) #7
  %cmp.not = icmp eq ptr %call, null
  br i1 %cmp.not, label %for.cond.cleanup, label %land.lhs.true

land.lhs.true:                                    ; preds = %entry
  %descr.i = getelementptr inbounds i8, ptr %whole, i64 56
  %4 = load ptr, ptr %descr.i, align 8
  %cmp5 = icmp eq ptr %call3, %4
  br i1 %cmp5, label %land.end, label %for.cond.cleanup

land.end:                                         ; preds = %land.lhs.true
  %call6 = tail call i64 @PyTuple_Size(ptr noundef nonnull %call) #7
  %ndim = getelementptr inbounds i8, ptr %part, i64 8
  %5 = load i32, ptr %ndim, align 8
  %conv = sext i32 %5 to i64
  %cmp7.not = icmp eq i64 %call6, %conv
  %ndim10 = getelementptr inbounds i8, ptr %part, i64 8
  br i1 %cmp7.not, label %land.rhs9.lr.ph, label %for.cond.cleanup

land.rhs9.lr.ph:                                  ; preds = %land.end
  %dims = getelementptr inbounds i8, ptr %part, i64 16
  br label %land.rhs9

land.rhs9:                                        ; preds = %land.rhs9.lr.ph, %for.body
  %indvars.iv = phi i64 [ 0, %land.rhs9.lr.ph ], [ %indvars.iv.next, %for.body ]
  %6 = load i32, ptr %ndim10, align 8
  %7 = sext i32 %6 to i64
  %cmp11 = icmp slt i64 %indvars.iv, %7
  br i1 %cmp11, label %for.body, label %for.cond.cleanup

for.cond.cleanup:                                 ; preds = %land.rhs9, %for.body, %entry, %land.lhs.true, %land.end
  %fits.0.lcssa = phi i32 [ 0, %land.end ], [ 0, %land.lhs.true ], [ 0, %entry ], [ 0, %for.body ], [ 1, %land.rhs9 ]
  tail call void @PyErr_Clear() #7
  tail call void @Py_DecRef(ptr noundef %call) #7
  tail call void @Py_DecRef(ptr noundef %call3) #7
  ret i32 %fits.0.lcssa

for.body:                                         ; preds = %land.rhs9
  %call16 = tail call ptr @PyTuple_GetItem(ptr noundef nonnull %call, i64 noundef %indvars.iv) #7
  %call17 = tail call i64 @PyLong_AsSsize_t(ptr noundef %call16) #7
  %arrayidx = getelementptr inbounds [8 x i64], ptr %dims, i64 0, i64 %indvars.iv
  %8 = load i64, ptr %arrayidx, align 8
  %cmp18 = icmp eq i64 %call17, %8
  %indvars.iv.next = add nuw nsw i64 %indvars.iv, 1
  br i1 %cmp18, label %land.rhs9, label %for.cond.cleanup
}

define internal fastcc ptr @results_of(ptr nocapture noundef readonly %known, ptr noundef %next, ptr nocapture noundef readonly %whole, ptr noundef %part) unnamed_addr #0 {
entry:
  %call = tail call i64 @PyTuple_Size(ptr noundef %next) #7
  %call1 = tail call ptr @PyTuple_New(i64 noundef %call) #7
  %none = getelementptr inbounds i8, ptr %known, i64 40
  %0 = load ptr, ptr %none, align 8
  %call2 = tail call ptr @PyTuple_GetItem(ptr noundef %next, i64 noundef 1) #7
  %1 = load ptr, ptr %none, align 8
  %cmp.not = icmp eq ptr %call2, %1
  br i1 %cmp.not, label %if.end.critedge, label %cond.true

cond.true:                                        ; preds = %entry
  %descr.i = getelementptr inbounds i8, ptr %whole, i64 56
  %2 = load ptr, ptr %descr.i, align 8
  tail call void @Py_IncRef(ptr noundef %2) #7
  %3 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx = getelementptr inbounds i8, ptr %3, i64 752
  %4 = load ptr, ptr %arrayidx, align 8
  %arrayidx6 = getelementptr inbounds i8, ptr %3, i64 16
  %5 = load ptr, ptr %arrayidx6, align 8
  %6 = load ptr, ptr %descr.i, align 8
  %ndim = getelementptr inbounds i8, ptr %part, i64 8
  %7 = load i32, ptr %ndim, align 8
  %dims = getelementptr inbounds i8, ptr %part, i64 16
  %call8 = tail call ptr %4(ptr noundef %5, ptr noundef %6, i32 noundef %7, ptr noundef nonnull %dims, ptr noundef null, ptr noundef null, i32 noundef 0, ptr noundef null) #7
  br label %if.end

if.end.critedge:                                  ; preds = %entry
  tail call void @Py_IncRef(ptr noundef %0) #7
  br label %if.end

if.end:                                           ; preds = %if.end.critedge, %cond.true
  %given.0 = phi ptr [ %call8, %cond.true ], [ %0, %if.end.critedge ]
  %cmp9 = icmp eq ptr %call1, null
  %cmp11 = icmp eq ptr %given.0, null
  %or.cond = select i1 %cmp9, i1 true, i1 %cmp11
  br i1 %or.cond, label %if.then13, label %for.cond.preheader

for.cond.preheader:                               ; preds = %if.end
  %cmp1546 = icmp sgt i64 %call, 0
  br i1 %cmp1546, label %for.body, label %cleanup

if.then13:                                        ; preds = %if.end
  tail call void @PyErr_Clear() #7
  tail call void @Py_DecRef(ptr noundef %call1) #7
  tail call void @Py_DecRef(ptr noundef %given.0) #7
  br label %cleanup

for.body:                                         ; preds = %for.cond.preheader, %cond.end23
  %k.047 = phi i64 [ %inc, %cond.end23 ], [ 0, %for.cond.preheader ]
  %cmp17 = icmp eq i64 %k.047, 1
  br i1 %cmp17, label %cond.end23, label %cond.false20

cond.false20:                                     ; preds = %for.body
  %8 = load ptr, ptr %none, align 8
  tail call void @Py_IncRef(ptr noundef %8) #7
  br label %cond.end23

cond.end23:                                       ; preds = %for.body, %cond.false20
  %cond24 = phi ptr [ %8, %cond.false20 ], [ %given.0, %for.body ]
  %call25 = tail call i32 @PyTuple_SetItem(ptr noundef %call1, i64 noundef %k.047, ptr noundef %cond24) #7
  %inc = add nuw nsw i64 %k.047, 1
  %exitcond.not = icmp eq i64 %inc, %call
  br i1 %exitcond.not, label %cleanup, label %for.body

cleanup:                                          ; preds = %cond.end23, %for.cond.preheader, %if.then13
  %retval.0 = phi ptr [ null, %if.then13 ], [ %call1, %for.cond.preheader ], [ %call1, %cond.end23 ]
  ret ptr %retval.0
}

define internal fastcc range(i32 0, 2) i32 @give(ptr nocapture noundef readonly %known, ptr noundef %entries, ptr noundef %node, ptr noundef %buffer) unnamed_addr #0 {
entry:
  %call = tail call ptr @PyDict_GetItemWithError(ptr noundef %entries, ptr noundef %node) #7
  %cond65 = icmp eq ptr %call, null
  br i1 %cond65, label %cond.end26.critedge, label %land.lhs.true

land.lhs.true:                                    ; preds = %entry
  %sole = getelementptr inbounds i8, ptr %known, i64 80
  %0 = load ptr, ptr %sole, align 8
  %cmp2.not = icmp eq ptr %call, %0
  br i1 %cmp2.not, label %cond.end, label %if.then

if.then:                                          ; preds = %land.lhs.true
  %call3 = tail call ptr @PyList_GetItem(ptr noundef nonnull %call, i64 noundef 1) #7
  %none = getelementptr inbounds i8, ptr %known, i64 40
  %1 = load ptr, ptr %none, align 8
  %cmp4 = icmp eq ptr %call3, %1
  br i1 %cmp4, label %land.lhs.true5, label %cleanup42

land.lhs.true5:                                   ; preds = %if.then
  %call6 = tail call ptr @PyList_GetItem(ptr noundef nonnull %call, i64 noundef 2) #7
  %one = getelementptr inbounds i8, ptr %known, i64 88
  %2 = load ptr, ptr %one, align 8
  %cmp7 = icmp eq ptr %call6, %2
  br i1 %cmp7, label %land.lhs.true8, label %cleanup42

land.lhs.true8:                                   ; preds = %land.lhs.true5
  tail call void @Py_IncRef(ptr noundef %buffer) #7
  %call10 = tail call i32 @PyList_SetItem(ptr noundef nonnull %call, i64 noundef 1, ptr noundef %buffer) #7
  %cmp11 = icmp eq i32 %call10, 0
  br i1 %cmp11, label %land.rhs, label %cleanup42

land.rhs:                                         ; preds = %land.lhs.true8
  %own = getelementptr inbounds i8, ptr %known, i64 96
  %3 = load ptr, ptr %own, align 8
  tail call void @Py_IncRef(ptr noundef %3) #7
  %call13 = tail call i32 @PyList_SetItem(ptr noundef nonnull %call, i64 noundef 2, ptr noundef %3) #7
  %cmp14 = icmp eq i32 %call13, 0
  br label %cleanup42

cond.end:                                         ; preds = %land.lhs.true
  %num_outputs = getelementptr inbounds i8, ptr %known, i64 184
  %4 = load ptr, ptr %num_outputs, align 8
  %call16 = tail call ptr @PyObject_GetAttr(ptr noundef %node, ptr noundef %4) #7
  %cmp17.not = icmp eq ptr %call16, null
  br i1 %cmp17.not, label %cond.end26.critedge, label %land.rhs18

land.rhs18:                                       ; preds = %cond.end
  %call19 = tail call i64 @PyLong_AsLong(ptr noundef nonnull %call16) #7
  %cmp20 = icmp eq i64 %call19, 1
  tail call void @Py_DecRef(ptr noundef nonnull %call16) #7
  tail call void @PyErr_Clear() #7
  br i1 %cmp20, label %cond.end26, label %cleanup42

cond.end26.critedge:                              ; preds = %entry, %cond.end
  tail call void @Py_DecRef(ptr noundef null) #7
  tail call void @PyErr_Clear() #7
  br label %cleanup42

cond.end26:                                       ; preds = %land.rhs18
  %call24 = tail call ptr @PyList_New(i64 noundef 3) #7
  %cmp28 = icmp eq ptr %call24, null
  br i1 %cmp28, label %cleanup42, label %if.end30

if.end30:                                         ; preds = %cond.end26
  %call31 = tail call ptr @PyLong_FromLong(i64 noundef 1) #7
  %call32 = tail call i32 @PyList_SetItem(ptr noundef nonnull %call24, i64 noundef 0, ptr noundef %call31) #7
  tail call void @Py_IncRef(ptr noundef %buffer) #7
  %call34 = tail call i32 @PyList_SetItem(ptr noundef nonnull %call24, i64 noundef 1, ptr noundef %buffer) #7
  %own35 = getelementptr inbounds i8, ptr %known, i64 96
  %5 = load ptr, ptr %own35, align 8
  tail call void @Py_IncRef(ptr noundef %5) #7
  %call37 = tail call i32 @PyList_SetItem(ptr noundef nonnull %call24, i64 noundef 2, ptr noundef %5) #7
  %call38 = tail call i32 @PyDict_SetItem(ptr noundef %entries, ptr noundef %node, ptr noundef nonnull %call24) #7
  tail call void @Py_DecRef(ptr noundef nonnull %call24) #7
  %cmp39 = icmp eq i32 %call38, 0
  br label %cleanup42

cleanup42:                                        ; preds = %cond.end26.critedge, %land.rhs18, %if.end30, %cond.end26, %if.then, %land.lhs.true5, %land.lhs.true8, %land.rhs
  %retval.1.shrunk = phi i1 [ false, %land.lhs.true8 ], [ false, %land.lhs.true5 ], [ false, %if.then ], [ %cmp14, %land.rhs ], [ %cmp39, %if.end30 ], [ false, %cond.end26 ], [ false, %land.rhs18 ], [ false, %cond.end26.critedge ]
  %retval.1 = zext i1 %retval.1.shrunk to i32
  ret i32 %retval.1
}

define internal fastcc void @add(ptr nocapture noundef %to, ptr nocapture noundef readonly %to_steps, ptr nocapture noundef readonly %from, ptr nocapture noundef readonly %from_steps, ptr nocapture noundef readonly %dims, i32 noundef %ndim, i32 noundef %type, i32 noundef %copies) unnamed_addr #3 {
entry:
  %cmp = icmp sgt i32 %ndim, 1
  br i1 %cmp, label %for.cond.preheader, label %if.end

for.cond.preheader:                               ; preds = %entry
  %0 = load i64, ptr %dims, align 8
  %cmp1105 = icmp sgt i64 %0, 0
  br i1 %cmp1105, label %for.body.lr.ph, label %return

for.body.lr.ph:                                   ; preds = %for.cond.preheader
  %add.ptr3 = getelementptr inbounds i8, ptr %to_steps, i64 8
  %add.ptr7 = getelementptr inbounds i8, ptr %from_steps, i64 8
  %add.ptr8 = getelementptr inbounds i8, ptr %dims, i64 8
  %sub = add nsw i32 %ndim, -1
  br label %for.body

for.body:                                         ; preds = %for.body.lr.ph, %for.body
  %k.0106 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %for.body ]
  %1 = load i64, ptr %to_steps, align 8
  %mul = mul nsw i64 %1, %k.0106
  %add.ptr = getelementptr inbounds i8, ptr %to, i64 %mul
  %2 = load i64, ptr %from_steps, align 8
  %mul5 = mul nsw i64 %2, %k.0106
  %add.ptr6 = getelementptr inbounds i8, ptr %from, i64 %mul5
  tail call fastcc void @add(ptr noundef %add.ptr, ptr noundef nonnull %add.ptr3, ptr noundef %add.ptr6, ptr noundef nonnull %add.ptr7, ptr noundef nonnull %add.ptr8, i32 noundef %sub, i32 noundef %type, i32 noundef %copies)
  %inc = add nuw nsw i64 %k.0106, 1
  %3 = load i64, ptr %dims, align 8
  %cmp1 = icmp slt i64 %inc, %3
  br i1 %cmp1, label %for.body, label %return

if.end:                                           ; preds = %entry
  %tobool.not = icmp eq i32 %ndim, 0
  br i1 %tobool.not, label %cond.end20.thread, label %cond.end20

cond.end20:                                       ; preds = %if.end
  %4 = load i64, ptr %dims, align 8
  %5 = load i64, ptr %to_steps, align 8
  %6 = load i64, ptr %from_steps, align 8
  %cmp22 = icmp eq i32 %type, 12
  %cmp26101 = icmp sgt i64 %4, 0
  br i1 %cmp22, label %for.cond25.preheader, label %for.cond40.preheader

cond.end20.thread:                                ; preds = %if.end
  %cmp22113 = icmp eq i32 %type, 12
  br i1 %cmp22113, label %for.body28.lr.ph, label %for.body43.lr.ph

for.cond40.preheader:                             ; preds = %cond.end20
  br i1 %cmp26101, label %for.body43.lr.ph, label %return

for.body43.lr.ph:                                 ; preds = %cond.end20.thread, %for.cond40.preheader
  %cond1594114126 = phi i64 [ %5, %for.cond40.preheader ], [ 0, %cond.end20.thread ]
  %cond9093116125 = phi i64 [ %4, %for.cond40.preheader ], [ 1, %cond.end20.thread ]
  %cond21118124 = phi i64 [ %6, %for.cond40.preheader ], [ 0, %cond.end20.thread ]
  %tobool44.not = icmp eq i32 %copies, 0
  br label %for.body43

for.cond25.preheader:                             ; preds = %cond.end20
  br i1 %cmp26101, label %for.body28.lr.ph, label %return

for.body28.lr.ph:                                 ; preds = %cond.end20.thread, %for.cond25.preheader
  %cond1594115133 = phi i64 [ %5, %for.cond25.preheader ], [ 0, %cond.end20.thread ]
  %cond9093117132 = phi i64 [ %4, %for.cond25.preheader ], [ 1, %cond.end20.thread ]
  %cond21119131 = phi i64 [ %6, %for.cond25.preheader ], [ 0, %cond.end20.thread ]
  %tobool29.not = icmp eq i32 %copies, 0
  br label %for.body28

for.body28:                                       ; preds = %for.body28.lr.ph, %cond.end32
  %k24.0104 = phi i64 [ 0, %for.body28.lr.ph ], [ %inc35, %cond.end32 ]
  %to.addr.0103 = phi ptr [ %to, %for.body28.lr.ph ], [ %add.ptr36, %cond.end32 ]
  %from.addr.0102 = phi ptr [ %from, %for.body28.lr.ph ], [ %add.ptr37, %cond.end32 ]
  br i1 %tobool29.not, label %cond.false31, label %cond.true30

cond.true30:                                      ; preds = %for.body28
  %7 = load double, ptr %from.addr.0102, align 8
  br label %cond.end32

cond.false31:                                     ; preds = %for.body28
  %8 = load double, ptr %to.addr.0103, align 8
  %9 = load double, ptr %from.addr.0102, align 8
  %add = fadd double %8, %9
  br label %cond.end32

cond.end32:                                       ; preds = %cond.false31, %cond.true30
  %cond33 = phi double [ %7, %cond.true30 ], [ %add, %cond.false31 ]
  store double %cond33, ptr %to.addr.0103, align 8
  %inc35 = add nuw nsw i64 %k24.0104, 1
  %add.ptr36 = getelementptr inbounds i8, ptr %to.addr.0103, i64 %cond1594115133
  %add.ptr37 = getelementptr inbounds i8, ptr %from.addr.0102, i64 %cond21119131
  %exitcond109.not = icmp eq i64 %inc35, %cond9093117132
  br i1 %exitcond109.not, label %return, label %for.body28

for.body43:                                       ; preds = %for.body43.lr.ph, %cond.end48
  %k39.0100 = phi i64 [ 0, %for.body43.lr.ph ], [ %inc51, %cond.end48 ]
  %to.addr.199 = phi ptr [ %to, %for.body43.lr.ph ], [ %add.ptr52, %cond.end48 ]
  %from.addr.198 = phi ptr [ %from, %for.body43.lr.ph ], [ %add.ptr53, %cond.end48 ]
  br i1 %tobool44.not, label %cond.false46, label %cond.true45

cond.true45:                                      ; preds = %for.body43
  %10 = load float, ptr %from.addr.198, align 4
  br label %cond.end48

cond.false46:                                     ; preds = %for.body43
  %11 = load float, ptr %to.addr.199, align 4
  %12 = load float, ptr %from.addr.198, align 4
  %add47 = fadd float %11, %12
  br label %cond.end48

cond.end48:                                       ; preds = %cond.false46, %cond.true45
  %cond49 = phi float [ %10, %cond.true45 ], [ %add47, %cond.false46 ]
  store float %cond49, ptr %to.addr.199, align 4
  %inc51 = add nuw nsw i64 %k39.0100, 1
  %add.ptr52 = getelementptr inbounds i8, ptr %to.addr.199, i64 %cond1594114126
  %add.ptr53 = getelementptr inbounds i8, ptr %from.addr.198, i64 %cond21118124
  %exitcond.not = icmp eq i64 %inc51, %cond9093116125
  br i1 %exitcond.not, label %return, label %for.body43

return:                                           ; preds = %cond.end48, %cond.end32, %for.body, %for.cond40.preheader, %for.cond25.preheader, %for.cond.preheader
  ret void
}

declare ptr @PyObject_CallMethodObjArgs(ptr noundef, ptr noundef, ...) local_unnamed_addr #2

declare i64 @PyTuple_Size(ptr noundef) local_unnamed_addr #2

declare i64 @PyLong_AsSsize_t(ptr noundef) local_unnamed_addr #2

declare i32 @PySlice_Unpack(ptr noundef, ptr noundef, ptr noundef, ptr noundef) local_unnamed_addr #2

declare i64 @PySlice_AdjustIndices(i64 noundef, ptr noundef, ptr noundef, i64 noundef) local_unnamed_addr #2

declare void @Py_IncRef(ptr noundef) local_unnamed_addr #2

declare i32 @PyList_SetItem(ptr noundef, i64 noundef, ptr noundef) local_unnamed_addr #2

declare ptr @PyList_New(i64 noundef) local_unnamed_addr #2

declare ptr @PyLong_FromLong(i64 noundef) local_unnamed_addr #2

declare i32 @PyDict_SetItem(ptr noundef, ptr noundef, ptr noundef) local_unnamed_addr #2

declare void @llvm.memset.p0.i64(ptr nocapture writeonly, i8, i64, i1 immarg) #4

define internal fastcc range(i32 0, 2) i32 @find_rows(ptr nocapture noundef readonly %known, ptr noundef %node, ptr nocapture noundef readonly %whole, ptr nocapture noundef writeonly %rows) unnamed_addr #0 {
entry:
  %rest_epochs = getelementptr inbounds i8, ptr %known, i64 208
  %0 = load ptr, ptr %rest_epochs, align 8
  %call = tail call ptr @PyObject_GetAttr(ptr noundef %node, ptr noundef %0) #7
  %rest_data = getelementptr inbounds i8, ptr %known, i64 200
  %1 = load ptr, ptr %rest_data, align 8
  %call1 = tail call ptr @PyObject_GetAttr(ptr noundef %node, ptr noundef %1) #7
  %params_of_part = getelementptr inbounds i8, ptr %known, i64 296
  %2 = load i64, ptr %params_of_part, align 8
  %add.ptr = getelementptr inbounds i8, ptr %node, i64 %2
  %3 = load ptr, ptr %add.ptr, align 8
  %template2 = getelementptr inbounds i8, ptr %known, i64 216
  %4 = load ptr, ptr %template2, align 8
  %call3 = tail call ptr @PyDict_GetItemWithError(ptr noundef %3, ptr noundef %4) #7
  %cmp = icmp ne ptr %call, null
  %cmp4 = icmp ne ptr %call1, null
  %or.cond = select i1 %cmp, i1 %cmp4, i1 false
  %cmp6 = icmp ne ptr %call3, null
  %or.cond108 = select i1 %or.cond, i1 %cmp6, i1 false
  br i1 %or.cond108, label %land.lhs.true7, label %if.end33

land.lhs.true7:                                   ; preds = %entry
  %ob_type.i = getelementptr inbounds i8, ptr %call, i64 8
  %5 = load ptr, ptr %ob_type.i, align 8
  %call.i = tail call i64 @PyType_GetFlags(ptr noundef %5) #7
  %6 = and i64 %call.i, 67108864
  %tobool.not = icmp eq i64 %6, 0
  br i1 %tobool.not, label %if.end33, label %land.lhs.true10

land.lhs.true10:                                  ; preds = %land.lhs.true7
  %ob_type.i159 = getelementptr inbounds i8, ptr %call1, i64 8
  %7 = load ptr, ptr %ob_type.i159, align 8
  %call.i160 = tail call i64 @PyType_GetFlags(ptr noundef %7) #7
  %8 = and i64 %call.i160, 67108864
  %tobool13.not = icmp eq i64 %8, 0
  br i1 %tobool13.not, label %if.end33, label %land.lhs.true14

land.lhs.true14:                                  ; preds = %land.lhs.true10
  %call15 = tail call i64 @PyTuple_Size(ptr noundef nonnull %call1) #7
  %cmp16 = icmp eq i64 %call15, 1
  br i1 %cmp16, label %land.lhs.true17, label %if.end33

land.lhs.true17:                                  ; preds = %land.lhs.true14
  %call18 = tail call i64 @PyTuple_Size(ptr noundef nonnull %call3) #7
  %cmp19 = icmp eq i64 %call18, 1
  br i1 %cmp19, label %land.lhs.true20, label %if.end33

land.lhs.true20:                                  ; preds = %land.lhs.true17
  %call21 = tail call ptr @PyTuple_GetItem(ptr noundef nonnull %call1, i64 noundef 0) #7
  %ob_type.i.i = getelementptr inbounds i8, ptr %call21, i64 8
  %9 = load ptr, ptr %ob_type.i.i, align 8
  %10 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx.i = getelementptr inbounds i8, ptr %10, i64 16
  %11 = load ptr, ptr %arrayidx.i, align 8
  %cmp.i.not = icmp eq ptr %9, %11
  br i1 %cmp.i.not, label %if.then, label %if.end33

if.then:                                          ; preds = %land.lhs.true20
  %call24 = tail call i64 @PyTuple_Size(ptr noundef nonnull %call) #7
  %cmp25 = icmp eq i64 %call24, 1
  %conv = zext i1 %cmp25 to i32
  %is_held = getelementptr inbounds i8, ptr %rows, i64 44
  store i32 %conv, ptr %is_held, align 4
  br i1 %cmp25, label %lor.lhs.false, label %if.then31

lor.lhs.false:                                    ; preds = %if.then
  %call28 = tail call ptr @PyTuple_GetItem(ptr noundef nonnull %call, i64 noundef 0) #7
  %call29 = tail call fastcc i32 @is_as_kept(ptr noundef nonnull %known, ptr noundef %call28)
  %tobool30.not = icmp eq i32 %call29, 0
  br i1 %tobool30.not, label %if.end33, label %if.then31

if.then31:                                        ; preds = %lor.lhs.false, %if.then
  %call32 = tail call ptr @PyTuple_GetItem(ptr noundef nonnull %call1, i64 noundef 0) #7
  br label %if.end33

if.end33:                                         ; preds = %lor.lhs.false, %if.then31, %land.lhs.true20, %land.lhs.true17, %land.lhs.true14, %land.lhs.true10, %land.lhs.true7, %entry
  %array.0 = phi ptr [ %call32, %if.then31 ], [ null, %lor.lhs.false ], [ null, %land.lhs.true20 ], [ null, %land.lhs.true17 ], [ null, %land.lhs.true14 ], [ null, %land.lhs.true10 ], [ null, %land.lhs.true7 ], [ null, %entry ]
  tail call void @PyErr_Clear() #7
  tail call void @Py_DecRef(ptr noundef %call) #7
  tail call void @Py_DecRef(ptr noundef %call1) #7
  %cmp34 = icmp eq ptr %array.0, null
  br i1 %cmp34, label %cleanup102, label %lor.lhs.false36

lor.lhs.false36:                                  ; preds = %if.end33
  %nd.i = getelementptr inbounds i8, ptr %whole, i64 24
  %12 = load i32, ptr %nd.i, align 8
  %cmp38 = icmp eq i32 %12, 0
  br i1 %cmp38, label %cleanup102, label %lor.lhs.false40

lor.lhs.false40:                                  ; preds = %lor.lhs.false36
  %descr.i = getelementptr inbounds i8, ptr %array.0, i64 56
  %13 = load ptr, ptr %descr.i, align 8
  %type_num = getelementptr inbounds i8, ptr %13, i64 28
  %14 = load i32, ptr %type_num, align 4
  %conv42 = sext i32 %14 to i64
  %position = getelementptr inbounds i8, ptr %known, i64 328
  %15 = load i64, ptr %position, align 8
  %cmp43.not = icmp eq i64 %15, %conv42
  br i1 %cmp43.not, label %lor.lhs.false45, label %cleanup102

lor.lhs.false45:                                  ; preds = %lor.lhs.false40
  %byteorder = getelementptr inbounds i8, ptr %13, i64 26
  %16 = load i8, ptr %byteorder, align 2
  %cmp48.not = icmp eq i8 %16, 62
  br i1 %cmp48.not, label %cleanup102, label %lor.lhs.false50

lor.lhs.false50:                                  ; preds = %lor.lhs.false45
  %flags.i = getelementptr inbounds i8, ptr %array.0, i64 64
  %17 = load i32, ptr %flags.i, align 8
  %flags.i164 = getelementptr inbounds i8, ptr %whole, i64 64
  %18 = load i32, ptr %flags.i164, align 8
  %and = and i32 %17, 257
  %and53 = and i32 %and, %18
  %cmp54.not = icmp eq i32 %and53, 257
  br i1 %cmp54.not, label %if.end57, label %cleanup102

if.end57:                                         ; preds = %lor.lhs.false50
  %data.i = getelementptr inbounds i8, ptr %array.0, i64 16
  %19 = load ptr, ptr %data.i, align 8
  store ptr %19, ptr %rows, align 8
  %dimensions.i = getelementptr inbounds i8, ptr %array.0, i64 32
  %20 = load ptr, ptr %dimensions.i, align 8
  %nd.i165 = getelementptr inbounds i8, ptr %array.0, i64 24
  %21 = load i32, ptr %nd.i165, align 8
  %cmp4.i = icmp sgt i32 %21, 0
  br i1 %cmp4.i, label %for.body.preheader.i, label %size_of.exit

for.body.preheader.i:                             ; preds = %if.end57
  %wide.trip.count.i = zext nneg i32 %21 to i64
  br label %for.body.i

for.body.i:                                       ; preds = %for.body.i, %for.body.preheader.i
  %indvars.iv.i = phi i64 [ 0, %for.body.preheader.i ], [ %indvars.iv.next.i, %for.body.i ]
  %size.05.i = phi i64 [ 1, %for.body.preheader.i ], [ %mul.i, %for.body.i ]
  %arrayidx.i166 = getelementptr inbounds i64, ptr %20, i64 %indvars.iv.i
  %22 = load i64, ptr %arrayidx.i166, align 8
  %mul.i = mul nsw i64 %22, %size.05.i
  %indvars.iv.next.i = add nuw nsw i64 %indvars.iv.i, 1
  %exitcond.not.i = icmp eq i64 %indvars.iv.next.i, %wide.trip.count.i
  br i1 %exitcond.not.i, label %size_of.exit, label %for.body.i

size_of.exit:                                     ; preds = %for.body.i, %if.end57
  %size.0.lcssa.i = phi i64 [ 1, %if.end57 ], [ %mul.i, %for.body.i ]
  %count = getelementptr inbounds i8, ptr %rows, i64 8
  store i64 %size.0.lcssa.i, ptr %count, align 8
  %dimensions.i167 = getelementptr inbounds i8, ptr %whole, i64 32
  %23 = load ptr, ptr %dimensions.i167, align 8
  %24 = load i64, ptr %23, align 8
  %length = getelementptr inbounds i8, ptr %rows, i64 16
  store i64 %24, ptr %length, align 8
  %25 = load ptr, ptr %dimensions.i167, align 8
  %add.ptr64 = getelementptr inbounds i8, ptr %25, i64 8
  %26 = load i32, ptr %nd.i, align 8
  %cmp4.i170 = icmp sgt i32 %26, 1
  br i1 %cmp4.i170, label %for.body.preheader.i172, label %size_of.exit181

for.body.preheader.i172:                          ; preds = %size_of.exit
  %sub = add nsw i32 %26, -1
  %wide.trip.count.i173 = zext nneg i32 %sub to i64
  br label %for.body.i174

for.body.i174:                                    ; preds = %for.body.i174, %for.body.preheader.i172
  %indvars.iv.i175 = phi i64 [ 0, %for.body.preheader.i172 ], [ %indvars.iv.next.i179, %for.body.i174 ]
  %size.05.i176 = phi i64 [ 1, %for.body.preheader.i172 ], [ %mul.i178, %for.body.i174 ]
  %arrayidx.i177 = getelementptr inbounds i64, ptr %add.ptr64, i64 %indvars.iv.i175
  %27 = load i64, ptr %arrayidx.i177, align 8
  %mul.i178 = mul nsw i64 %27, %size.05.i176
  %indvars.iv.next.i179 = add nuw nsw i64 %indvars.iv.i175, 1
  %exitcond.not.i180 = icmp eq i64 %indvars.iv.next.i179, %wide.trip.count.i173
  br i1 %exitcond.not.i180, label %size_of.exit181, label %for.body.i174

size_of.exit181:                                  ; preds = %for.body.i174, %size_of.exit
  %size.0.lcssa.i171 = phi i64 [ 1, %size_of.exit ], [ %mul.i178, %for.body.i174 ]
  %width = getelementptr inbounds i8, ptr %rows, i64 24
  store i64 %size.0.lcssa.i171, ptr %width, align 8
  %descr.i182 = getelementptr inbounds i8, ptr %whole, i64 56
  %28 = load ptr, ptr %descr.i182, align 8
  %type_num68 = getelementptr inbounds i8, ptr %28, i64 28
  %29 = load i32, ptr %type_num68, align 4
  %type = getelementptr inbounds i8, ptr %rows, i64 40
  store i32 %29, ptr %type, align 8
  %cmp70 = icmp eq i32 %29, 12
  %cond = select i1 %cmp70, i64 8, i64 4
  %bytes = getelementptr inbounds i8, ptr %rows, i64 32
  store i64 %cond, ptr %bytes, align 8
  %mul = mul nsw i64 %size.0.lcssa.i171, %size.0.lcssa.i
  %cmp75 = icmp sgt i64 %mul, 512
  br i1 %cmp75, label %cleanup102, label %lor.lhs.false77

lor.lhs.false77:                                  ; preds = %size_of.exit181
  %30 = load i32, ptr %nd.i165, align 8
  %31 = load i32, ptr %nd.i, align 8
  %add = add nsw i32 %31, %30
  %cmp81 = icmp sgt i32 %add, 9
  br i1 %cmp81, label %cleanup102, label %for.cond.preheader

for.cond.preheader:                               ; preds = %lor.lhs.false77
  %cmp86.not185 = icmp slt i64 %size.0.lcssa.i, 1
  br i1 %cmp86.not185, label %cleanup102, label %for.body.lr.ph

for.body.lr.ph:                                   ; preds = %for.cond.preheader
  %sub91 = sub nsw i64 0, %24
  %32 = load i64, ptr %19, align 8
  %cmp92189 = icmp sge i64 %32, %sub91
  %cmp98.not190 = icmp slt i64 %32, %24
  %or.cond158191 = and i1 %cmp92189, %cmp98.not190
  br i1 %or.cond158191, label %for.cond, label %cleanup102

for.cond:                                         ; preds = %for.body.lr.ph, %for.body
  %k.0186192 = phi i64 [ %inc, %for.body ], [ 0, %for.body.lr.ph ]
  %inc = add nuw nsw i64 %k.0186192, 1
  %exitcond = icmp eq i64 %inc, %size.0.lcssa.i
  br i1 %exitcond, label %cleanup.loopexit.loopexit, label %for.body

for.body:                                         ; preds = %for.cond
  %arrayidx89 = getelementptr inbounds i64, ptr %19, i64 %inc
  %33 = load i64, ptr %arrayidx89, align 8
  %cmp92 = icmp sge i64 %33, %sub91
  %cmp98.not = icmp slt i64 %33, %24
  %or.cond158 = and i1 %cmp92, %cmp98.not
  br i1 %or.cond158, label %for.cond, label %cleanup.loopexit.loopexit

cleanup.loopexit.loopexit:                        ; preds = %for.body, %for.cond
  %cmp86.not.le = icmp sge i64 %inc, %size.0.lcssa.i
  %34 = zext i1 %cmp86.not.le to i32
  br label %cleanup102

cleanup102:                                       ; preds = %for.body.lr.ph, %cleanup.loopexit.loopexit, %for.cond.preheader, %size_of.exit181, %lor.lhs.false77, %if.end33, %lor.lhs.false36, %lor.lhs.false40, %lor.lhs.false45, %lor.lhs.false50
  %retval.1 = phi i32 [ 0, %lor.lhs.false50 ], [ 0, %lor.lhs.false45 ], [ 0, %lor.lhs.false40 ], [ 0, %lor.lhs.false36 ], [ 0, %if.end33 ], [ 0, %lor.lhs.false77 ], [ 0, %size_of.exit181 ], [ 1, %for.cond.preheader ], [ 0, %for.body.lr.ph ], [ %34, %cleanup.loopexit.loopexit ]
  ret i32 %retval.1
}

define internal fastcc range(i32 0, 2) i32 @is_as_kept(ptr nocapture noundef readonly %known, ptr noundef %epoch) unnamed_addr #0 {
entry:
  %none = getelementptr inbounds i8, ptr %known, i64 40
  %0 = load ptr, ptr %none, align 8
  %cmp = icmp eq ptr %0, %epoch
  br i1 %cmp, label %if.then, label %if.end

if.then:                                          ; preds = %entry
  %disturbed = getelementptr inbounds i8, ptr %known, i64 104
  %1 = load ptr, ptr %disturbed, align 8
  %call = tail call i64 @PyDict_Size(ptr noundef %1) #7
  %cmp1 = icmp eq i64 %call, 0
  br label %return

if.end:                                           ; preds = %entry
  %next2 = getelementptr inbounds i8, ptr %known, i64 248
  %2 = load ptr, ptr %next2, align 8
  %call3 = tail call ptr @PyObject_GetAttr(ptr noundef %epoch, ptr noundef %2) #7
  tail call void @Py_DecRef(ptr noundef %call3) #7
  %3 = load ptr, ptr %none, align 8
  %cmp5 = icmp eq ptr %call3, %3
  br label %return

return:                                           ; preds = %if.end, %if.then
  %retval.0.in = phi i1 [ %cmp1, %if.then ], [ %cmp5, %if.end ]
  %retval.0 = zext i1 %retval.0.in to i32
  ret i32 %retval.0
}

declare i64 @PyType_GetFlags(ptr noundef) local_unnamed_addr #2

declare i64 @PyDict_Size(ptr noundef) local_unnamed_addr #2

declare i32 @PyObject_SetAttr(ptr noundef, ptr noundef, ptr noundef) local_unnamed_addr #2

define internal fastcc ptr @buffer_behind(ptr nocapture noundef readonly %known, ptr noundef %entries, ptr nocapture noundef readonly %node, ptr nocapture noundef writeonly %is_sole) unnamed_addr #0 {
entry:
  %next_of_node = getelementptr inbounds i8, ptr %known, i64 256
  %0 = load i64, ptr %next_of_node, align 8
  %add.ptr = getelementptr inbounds i8, ptr %node, i64 %0
  %1 = load ptr, ptr %add.ptr, align 8
  %call = tail call ptr @PyTuple_GetItem(ptr noundef %1, i64 noundef 0) #7
  %none = getelementptr inbounds i8, ptr %known, i64 40
  %2 = load ptr, ptr %none, align 8
  %cmp = icmp eq ptr %call, %2
  br i1 %cmp, label %cond.end.thread, label %cond.end

cond.end.thread:                                  ; preds = %entry
  tail call void @PyErr_Clear() #7
  br label %cleanup57

cond.end:                                         ; preds = %entry
  %call2 = tail call ptr @PyDict_GetItemWithError(ptr noundef %entries, ptr noundef %call) #7
  tail call void @PyErr_Clear() #7
  %cmp3 = icmp eq ptr %call2, null
  br i1 %cmp3, label %cleanup57, label %lor.lhs.false

lor.lhs.false:                                    ; preds = %cond.end
  %spec_of_node = getelementptr inbounds i8, ptr %known, i64 272
  %3 = load i64, ptr %spec_of_node, align 8
  %add.ptr4 = getelementptr inbounds i8, ptr %call, i64 %3
  %4 = load ptr, ptr %add.ptr4, align 8
  %specs_of_part = getelementptr inbounds i8, ptr %known, i64 288
  %5 = load i64, ptr %specs_of_part, align 8
  %add.ptr5 = getelementptr inbounds i8, ptr %node, i64 %5
  %6 = load ptr, ptr %add.ptr5, align 8
  %call6 = tail call ptr @PyTuple_GetItem(ptr noundef %6, i64 noundef 0) #7
  %cmp7.not = icmp eq ptr %4, %call6
  br i1 %cmp7.not, label %if.end, label %cleanup57

if.end:                                           ; preds = %lor.lhs.false
  %sole = getelementptr inbounds i8, ptr %known, i64 80
  %7 = load ptr, ptr %sole, align 8
  %cmp8 = icmp eq ptr %call2, %7
  %conv = zext i1 %cmp8 to i32
  store i32 %conv, ptr %is_sole, align 4
  br i1 %cmp8, label %if.then9, label %if.end20

if.then9:                                         ; preds = %if.end
  %part_kind = getelementptr inbounds i8, ptr %known, i64 120
  %8 = load ptr, ptr %part_kind, align 8
  %call.i = tail call ptr @PyObject_GetAttr(ptr noundef nonnull %call, ptr noundef %8) #7
  %cmp.i = icmp eq ptr %call.i, null
  br i1 %cmp.i, label %lor.lhs.false12.critedge, label %cond.false.i

cond.false.i:                                     ; preds = %if.then9
  %call1.i = tail call i64 @PyLong_AsLong(ptr noundef nonnull %call.i) #7
  %9 = icmp eq i64 %call1.i, 0
  tail call void @Py_DecRef(ptr noundef nonnull %call.i) #7
  tail call void @PyErr_Clear() #7
  br i1 %9, label %lor.lhs.false12, label %cleanup57

lor.lhs.false12.critedge:                         ; preds = %if.then9
  tail call void @Py_DecRef(ptr noundef null) #7
  tail call void @PyErr_Clear() #7
  br label %lor.lhs.false12

lor.lhs.false12:                                  ; preds = %lor.lhs.false12.critedge, %cond.false.i
  %shows_part = getelementptr inbounds i8, ptr %known, i64 128
  %10 = load ptr, ptr %shows_part, align 8
  %call.i91 = tail call ptr @PyObject_GetAttr(ptr noundef nonnull %call, ptr noundef %10) #7
  %cmp.i92 = icmp eq ptr %call.i91, null
  br i1 %cmp.i92, label %if.then.i, label %is_true.exit

if.then.i:                                        ; preds = %lor.lhs.false12
  tail call void @PyErr_Clear() #7
  br label %is_true.exit

is_true.exit:                                     ; preds = %lor.lhs.false12, %if.then.i
  tail call void @Py_DecRef(ptr noundef %call.i91) #7
  %true_.i = getelementptr inbounds i8, ptr %known, i64 48
  %11 = load ptr, ptr %true_.i, align 8
  %cmp1.i.not = icmp eq ptr %call.i91, %11
  br i1 %cmp1.i.not, label %cleanup57, label %cond.false16

cond.false16:                                     ; preds = %is_true.exit
  %call17 = tail call fastcc ptr @zeros_for(ptr noundef nonnull %known, ptr noundef nonnull %call)
  br label %cleanup57

if.end20:                                         ; preds = %if.end
  %call21 = tail call ptr @PyList_GetItem(ptr noundef nonnull %call2, i64 noundef 1) #7
  %call22 = tail call ptr @PyList_GetItem(ptr noundef nonnull %call2, i64 noundef 2) #7
  %own = getelementptr inbounds i8, ptr %known, i64 96
  %12 = load ptr, ptr %own, align 8
  %cmp23 = icmp eq ptr %call22, %12
  br i1 %cmp23, label %if.then25, label %if.end35

if.then25:                                        ; preds = %if.end20
  %ob_type.i.i = getelementptr inbounds i8, ptr %call21, i64 8
  %13 = load ptr, ptr %ob_type.i.i, align 8
  %14 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx.i = getelementptr inbounds i8, ptr %14, i64 16
  %15 = load ptr, ptr %arrayidx.i, align 8
  %cmp.i93.not = icmp eq ptr %13, %15
  br i1 %cmp.i93.not, label %land.lhs.true, label %cleanup57

land.lhs.true:                                    ; preds = %if.then25
  %descr.i.i.i = getelementptr inbounds i8, ptr %call21, i64 56
  %16 = load ptr, ptr %descr.i.i.i, align 8
  %type_num.i.i = getelementptr inbounds i8, ptr %16, i64 28
  %17 = load i32, ptr %type_num.i.i, align 4
  %18 = add i32 %17, -11
  %or.cond.i.i = icmp ult i32 %18, 2
  br i1 %or.cond.i.i, label %land.lhs.true.i.i, label %cleanup57

land.lhs.true.i.i:                                ; preds = %land.lhs.true
  %byteorder.i.i = getelementptr inbounds i8, ptr %16, i64 26
  %19 = load i8, ptr %byteorder.i.i, align 2
  %cmp3.not.i.i = icmp eq i8 %19, 62
  br i1 %cmp3.not.i.i, label %cleanup57, label %land.lhs.true5.i.i

land.lhs.true5.i.i:                               ; preds = %land.lhs.true.i.i
  %flags.i.i.i = getelementptr inbounds i8, ptr %call21, i64 64
  %20 = load i32, ptr %flags.i.i.i, align 8
  %and.i.i = and i32 %20, 256
  %tobool.not.i.i = icmp eq i32 %and.i.i, 0
  br i1 %tobool.not.i.i, label %cleanup57, label %is_plain.exit.i

is_plain.exit.i:                                  ; preds = %land.lhs.true5.i.i
  %nd.i.i.i = getelementptr inbounds i8, ptr %call21, i64 24
  %21 = load i32, ptr %nd.i.i.i, align 8
  %cmp8.i.i = icmp sgt i32 %21, 8
  %22 = and i32 %20, 1024
  %tobool29.not = icmp eq i32 %22, 0
  %or.cond = or i1 %tobool29.not, %cmp8.i.i
  br i1 %or.cond, label %cleanup57, label %cond.true30

cond.true30:                                      ; preds = %is_plain.exit.i
  tail call void @Py_IncRef(ptr noundef nonnull %call21) #7
  br label %cleanup57

if.end35:                                         ; preds = %if.end20
  %one = getelementptr inbounds i8, ptr %known, i64 88
  %23 = load ptr, ptr %one, align 8
  %cmp36 = icmp eq ptr %call22, %23
  br i1 %cmp36, label %land.lhs.true38, label %cleanup57

land.lhs.true38:                                  ; preds = %if.end35
  %24 = load ptr, ptr %none, align 8
  %cmp40 = icmp eq ptr %call21, %24
  br i1 %cmp40, label %cond.end45, label %cleanup57

cond.end45:                                       ; preds = %land.lhs.true38
  %call43 = tail call fastcc ptr @zeros_for(ptr noundef nonnull %known, ptr noundef nonnull %call)
  %cmp47.not = icmp eq ptr %call43, null
  br i1 %cmp47.not, label %cleanup57, label %if.then49

if.then49:                                        ; preds = %cond.end45
  tail call void @Py_IncRef(ptr noundef nonnull %call43) #7
  %call51 = tail call i32 @PyList_SetItem(ptr noundef nonnull %call2, i64 noundef 1, ptr noundef nonnull %call43) #7
  %25 = load ptr, ptr %own, align 8
  tail call void @Py_IncRef(ptr noundef %25) #7
  %call54 = tail call i32 @PyList_SetItem(ptr noundef nonnull %call2, i64 noundef 2, ptr noundef %25) #7
  br label %cleanup57

cleanup57:                                        ; preds = %if.end35, %land.lhs.true38, %land.lhs.true, %land.lhs.true.i.i, %land.lhs.true5.i.i, %is_plain.exit.i, %cond.end.thread, %if.then25, %cond.true30, %if.then49, %cond.end45, %cond.false16, %is_true.exit, %cond.false.i, %cond.end, %lor.lhs.false
  %retval.1 = phi ptr [ null, %lor.lhs.false ], [ null, %cond.end ], [ %call17, %cond.false16 ], [ null, %is_true.exit ], [ null, %cond.false.i ], [ %call21, %cond.true30 ], [ null, %if.then25 ], [ %call43, %if.then49 ], [ null, %cond.end45 ], [ null, %cond.end.thread ], [ null, %is_plain.exit.i ], [ null, %land.lhs.true5.i.i ], [ null, %land.lhs.true.i.i ], [ null, %land.lhs.true ], [ null, %land.lhs.true38 ], [ null, %if.end35 ]
  ret ptr %retval.1
}

declare ptr @PyTuple_Pack(i64 noundef, ...) local_unnamed_addr #2

define internal fastcc ptr @zeros_for(ptr nocapture noundef readonly %known, ptr noundef %node) unnamed_addr #0 {
entry:
  %dims = alloca %struct.lengths, align 8
  %spec_of_node = getelementptr inbounds i8, ptr %known, i64 272
  %0 = load i64, ptr %spec_of_node, align 8
  %add.ptr = getelementptr inbounds i8, ptr %node, i64 %0
  %1 = load ptr, ptr %add.ptr, align 8
  %none = getelementptr inbounds i8, ptr %known, i64 40
  %2 = load ptr, ptr %none, align 8
  %cmp = icmp eq ptr %1, %2
  br i1 %cmp, label %cleanup, label %lor.lhs.false

lor.lhs.false:                                    ; preds = %entry
  %ob_type.i.i = getelementptr inbounds i8, ptr %node, i64 8
  %3 = load ptr, ptr %ob_type.i.i, align 8
  %4 = load ptr, ptr %known, align 8
  %cmp.not.i = icmp eq ptr %3, %4
  br i1 %cmp.not.i, label %if.end.i, label %if.end

if.end.i:                                         ; preds = %lor.lhs.false
  %variable.i = getelementptr inbounds i8, ptr %known, i64 144
  %5 = load ptr, ptr %variable.i, align 8
  %call1.i = tail call ptr @PyObject_GetAttr(ptr noundef nonnull %node, ptr noundef %5) #7
  %cmp2.i = icmp eq ptr %call1.i, null
  br i1 %cmp2.i, label %cond.end10.i, label %cond.end.i

cond.end.i:                                       ; preds = %if.end.i
  %meta3.i = getelementptr inbounds i8, ptr %known, i64 152
  %6 = load ptr, ptr %meta3.i, align 8
  %call4.i = tail call ptr @PyObject_GetAttr(ptr noundef nonnull %call1.i, ptr noundef %6) #7
  %cmp5.i = icmp eq ptr %call4.i, null
  br i1 %cmp5.i, label %cond.end10.i, label %lor.lhs.false.i

lor.lhs.false.i:                                  ; preds = %cond.end.i
  %7 = load ptr, ptr %none, align 8
  %cmp6.i = icmp eq ptr %call4.i, %7
  br i1 %cmp6.i, label %cond.end10.i, label %cond.false8.i

cond.false8.i:                                    ; preds = %lor.lhs.false.i
  %grad_dtype.i = getelementptr inbounds i8, ptr %known, i64 160
  %8 = load ptr, ptr %grad_dtype.i, align 8
  %call9.i = tail call ptr @PyObject_GetAttr(ptr noundef nonnull %call4.i, ptr noundef %8) #7
  br label %cond.end10.i

cond.end10.i:                                     ; preds = %cond.false8.i, %lor.lhs.false.i, %cond.end.i, %if.end.i
  %cond31.i = phi ptr [ %call4.i, %cond.false8.i ], [ %call4.i, %lor.lhs.false.i ], [ null, %cond.end.i ], [ null, %if.end.i ]
  %cond11.i = phi ptr [ %call9.i, %cond.false8.i ], [ null, %lor.lhs.false.i ], [ null, %cond.end.i ], [ null, %if.end.i ]
  %9 = load ptr, ptr %none, align 8
  %cmp13.i = icmp eq ptr %cond31.i, %9
  br i1 %cmp13.i, label %if.end.critedge, label %lor.rhs.i

lor.rhs.i:                                        ; preds = %cond.end10.i
  %unset.i = getelementptr inbounds i8, ptr %known, i64 112
  %10 = load ptr, ptr %unset.i, align 8
  %cmp14.i.not = icmp eq ptr %cond11.i, %10
  tail call void @Py_DecRef(ptr noundef %call1.i) #7
  tail call void @Py_DecRef(ptr noundef %cond31.i) #7
  tail call void @Py_DecRef(ptr noundef %cond11.i) #7
  tail call void @PyErr_Clear() #7
  br i1 %cmp14.i.not, label %if.end, label %cleanup

if.end.critedge:                                  ; preds = %cond.end10.i
  tail call void @Py_DecRef(ptr noundef %call1.i) #7
  tail call void @Py_DecRef(ptr noundef %cond31.i) #7
  tail call void @Py_DecRef(ptr noundef %cond11.i) #7
  tail call void @PyErr_Clear() #7
  br label %if.end

if.end:                                           ; preds = %if.end.critedge, %lor.lhs.false, %lor.rhs.i
  %shape1 = getelementptr inbounds i8, ptr %known, i64 232
  %11 = load ptr, ptr %shape1, align 8
  %call2 = tail call ptr @PyObject_GetAttr(ptr noundef %1, ptr noundef %11) #7
  %dtype3 = getelementptr inbounds i8, ptr %known, i64 240
  %12 = load ptr, ptr %dtype3, align 8
  %call4 = tail call ptr @PyObject_GetAttr(ptr noundef %1, ptr noundef %12) #7
  call void @llvm.lifetime.start.p0(i64 64, ptr nonnull %dims) #7
  %cmp5 = icmp eq ptr %call2, null
  %cmp7 = icmp eq ptr %call4, null
  %or.cond = select i1 %cmp5, i1 true, i1 %cmp7
  br i1 %or.cond, label %if.end21, label %cond.end

cond.end:                                         ; preds = %if.end
  %call8 = tail call i64 @PyTuple_Size(ptr noundef nonnull %call2) #7
  %cmp10 = icmp slt i64 %call8, 9
  %13 = add i64 %call8, -1
  %14 = icmp ult i64 %13, 8
  br i1 %14, label %for.body, label %for.cond.cleanup

for.cond.cleanup:                                 ; preds = %for.body, %cond.end
  br i1 %cmp10, label %land.lhs.true, label %if.end21

for.body:                                         ; preds = %cond.end, %for.body
  %k.043 = phi i64 [ %inc, %for.body ], [ 0, %cond.end ]
  %call11 = tail call ptr @PyTuple_GetItem(ptr noundef %call2, i64 noundef %k.043) #7
  %call12 = tail call i64 @PyLong_AsSsize_t(ptr noundef %call11) #7
  %arrayidx = getelementptr inbounds [8 x i64], ptr %dims, i64 0, i64 %k.043
  store i64 %call12, ptr %arrayidx, align 8
  %inc = add nuw nsw i64 %k.043, 1
  %cmp9 = icmp slt i64 %inc, %call8
  %15 = and i1 %cmp10, %cmp9
  br i1 %15, label %for.body, label %for.cond.cleanup

land.lhs.true:                                    ; preds = %for.cond.cleanup
  %call14 = tail call ptr @PyErr_Occurred() #7
  %tobool15.not = icmp eq ptr %call14, null
  br i1 %tobool15.not, label %if.then16, label %if.end21

if.then16:                                        ; preds = %land.lhs.true
  %16 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx17 = getelementptr inbounds i8, ptr %16, i64 1464
  %17 = load ptr, ptr %arrayidx17, align 8
  %conv = trunc i64 %call8 to i32
  tail call void @Py_IncRef(ptr noundef %call4) #7
  %call20 = call ptr %17(i32 noundef %conv, ptr noundef nonnull %dims, ptr noundef %call4, i32 noundef 0) #7
  br label %if.end21

if.end21:                                         ; preds = %if.end, %if.then16, %land.lhs.true, %for.cond.cleanup
  %made.0 = phi ptr [ null, %land.lhs.true ], [ %call20, %if.then16 ], [ null, %for.cond.cleanup ], [ null, %if.end ]
  call void @PyErr_Clear() #7
  call void @Py_DecRef(ptr noundef %call2) #7
  call void @Py_DecRef(ptr noundef %call4) #7
  call void @llvm.lifetime.end.p0(i64 64, ptr nonnull %dims) #7
  br label %cleanup

cleanup:                                          ; preds = %entry, %lor.rhs.i, %if.end21
  %retval.0 = phi ptr [ %made.0, %if.end21 ], [ null, %lor.rhs.i ], [ null, %entry ]
  ret ptr %retval.0
}

declare i32 @bcmp(ptr nocapture, ptr nocapture, i64) local_unnamed_addr #5

declare i32 @llvm.smax.i32(i32, i32) #6

attributes #0 = { nounwind }
attributes #1 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { nounwind }
attributes #3 = { nofree nosync nounwind memory(readwrite, inaccessiblemem: none) }
attributes #4 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #5 = { nofree nounwind willreturn memory(argmem: read) }
attributes #6 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #7 = { nounwind }
