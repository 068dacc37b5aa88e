; Made from c/leaves.c by `make native`.

define ptr @NAME_leaves(ptr nocapture noundef readonly %self, ptr noundef %args, i64 noundef %count) local_unnamed_addr #0 {
entry:
  %data.i = getelementptr inbounds i8, ptr %self, i64 16
  %0 = load ptr, ptr %data.i, align 8
  %call1 = tail call ptr @PyTuple_New(i64 noundef %count) #2
  %cmp = icmp eq ptr %call1, null
  br i1 %cmp, label %cleanup17, label %for.cond.preheader

for.cond.preheader:                               ; preds = %entry
  %cmp2.not48 = icmp sgt i64 %count, 0
  br i1 %cmp2.not48, label %for.body.lr.ph, label %cleanup17

for.body.lr.ph:                                   ; preds = %for.cond.preheader
  %mark_of_tensor = getelementptr inbounds i8, ptr %0, i64 48
  %leaf = getelementptr inbounds i8, ptr %0, i64 8
  %reference_of_mark.i = getelementptr inbounds i8, ptr %0, i64 64
  %none.i = getelementptr inbounds i8, ptr %0, i64 40
  %clock.i.i = getelementptr inbounds i8, ptr %0, i64 16
  %seq_of_node.i.i = getelementptr inbounds i8, ptr %0, i64 104
  %spec_of_node.i.i = getelementptr inbounds i8, ptr %0, i64 80
  %spec_of_tensor.i.i = getelementptr inbounds i8, ptr %0, i64 56
  %variable_of_node.i.i = getelementptr inbounds i8, ptr %0, i64 72
  %next_of_node.i.i = getelementptr inbounds i8, ptr %0, i64 88
  %nothing.i.i = getelementptr inbounds i8, ptr %0, i64 32
  %rare_of_node.i.i = getelementptr inbounds i8, ptr %0, i64 96
  br label %for.body

for.body:                                         ; preds = %for.body.lr.ph, %for.inc
  %i.049 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %for.inc ]
  %arrayidx = getelementptr inbounds ptr, ptr %args, i64 %i.049
  %1 = load ptr, ptr %arrayidx, align 8
  %2 = load i64, ptr %mark_of_tensor, align 8
  %add.ptr = getelementptr inbounds i8, ptr %1, i64 %2
  %3 = load ptr, ptr %add.ptr, align 8
  %ob_type.i = getelementptr inbounds i8, ptr %3, i64 8
  %4 = load ptr, ptr %ob_type.i, align 8
  %5 = load ptr, ptr %leaf, align 8
  %cmp4.not = icmp eq ptr %4, %5
  br i1 %cmp4.not, label %for.cond.i, label %if.then5

if.then5:                                         ; preds = %for.body
  tail call void @Py_DecRef(ptr noundef nonnull %call1) #2
  %slow = getelementptr inbounds i8, ptr %0, i64 24
  %6 = load ptr, ptr %slow, align 8
  %call6 = tail call ptr @PyObject_Vectorcall(ptr noundef %6, ptr noundef nonnull %args, i64 noundef %count, ptr noundef null) #2
  br label %cleanup17

for.cond.i:                                       ; preds = %for.body, %cleanup20.i
  %7 = load i64, ptr %reference_of_mark.i, align 8
  %add.ptr.i = getelementptr inbounds i8, ptr %3, i64 %7
  %8 = load ptr, ptr %add.ptr.i, align 8
  tail call void @Py_IncRef(ptr noundef %8) #2
  %9 = load ptr, ptr %none.i, align 8
  %cmp.not.i = icmp eq ptr %8, %9
  br i1 %cmp.not.i, label %if.end4.i, label %if.then.i

if.then.i:                                        ; preds = %for.cond.i
  %call.i = tail call ptr @PyObject_CallNoArgs(ptr noundef %8) #2
  %10 = load ptr, ptr %none.i, align 8
  %cmp2.not.i = icmp eq ptr %call.i, %10
  br i1 %cmp2.not.i, label %cleanup.thread.i, label %node_of.exit

cleanup.thread.i:                                 ; preds = %if.then.i
  tail call void @Py_DecRef(ptr noundef %call.i) #2
  br label %if.end4.i

if.end4.i:                                        ; preds = %cleanup.thread.i, %for.cond.i
  %11 = load ptr, ptr %clock.i.i, align 8
  %call.i.i = tail call ptr @PyObject_CallNoArgs(ptr noundef %11) #2
  %cmp.i.i = icmp eq ptr %call.i.i, null
  br i1 %cmp.i.i, label %return.sink.split.i, label %if.end.i.i

if.end.i.i:                                       ; preds = %if.end4.i
  %12 = load ptr, ptr %0, align 8
  %call2.i.i = tail call ptr @PyType_GenericAlloc(ptr noundef %12, i64 noundef 0) #2
  %cmp3.i.i = icmp eq ptr %call2.i.i, null
  br i1 %cmp3.i.i, label %if.then4.i.i, label %cond.end.i

if.then4.i.i:                                     ; preds = %if.end.i.i
  tail call void @Py_DecRef(ptr noundef nonnull %call.i.i) #2
  br label %return.sink.split.i

cond.end.i:                                       ; preds = %if.end.i.i
  %13 = load i64, ptr %seq_of_node.i.i, align 8
  %add.ptr.i.i = getelementptr inbounds i8, ptr %call2.i.i, i64 %13
  store ptr %call.i.i, ptr %add.ptr.i.i, align 8
  %14 = load i64, ptr %spec_of_node.i.i, align 8
  %15 = load i64, ptr %spec_of_tensor.i.i, align 8
  %add.ptr6.i.i = getelementptr inbounds i8, ptr %1, i64 %15
  %16 = load ptr, ptr %add.ptr6.i.i, align 8
  tail call void @Py_IncRef(ptr noundef %16) #2
  %add.ptr.i.i.i = getelementptr inbounds i8, ptr %call2.i.i, i64 %14
  store ptr %16, ptr %add.ptr.i.i.i, align 8
  %17 = load i64, ptr %variable_of_node.i.i, align 8
  tail call void @Py_IncRef(ptr noundef nonnull %1) #2
  %add.ptr.i26.i.i = getelementptr inbounds i8, ptr %call2.i.i, i64 %17
  store ptr %1, ptr %add.ptr.i26.i.i, align 8
  %18 = load i64, ptr %next_of_node.i.i, align 8
  %19 = load ptr, ptr %nothing.i.i, align 8
  tail call void @Py_IncRef(ptr noundef %19) #2
  %add.ptr.i27.i.i = getelementptr inbounds i8, ptr %call2.i.i, i64 %18
  store ptr %19, ptr %add.ptr.i27.i.i, align 8
  %20 = load i64, ptr %rare_of_node.i.i, align 8
  %21 = load ptr, ptr %none.i, align 8
  tail call void @Py_IncRef(ptr noundef %21) #2
  %add.ptr.i28.i.i = getelementptr inbounds i8, ptr %call2.i.i, i64 %20
  store ptr %21, ptr %add.ptr.i28.i.i, align 8
  %call7.i = tail call ptr @PyWeakref_NewRef(ptr noundef nonnull %call2.i.i, ptr noundef null) #2
  %cmp8.i = icmp eq ptr %call7.i, null
  br i1 %cmp8.i, label %return.sink.split.i, label %if.end10.i

if.end10.i:                                       ; preds = %cond.end.i
  %22 = load i64, ptr %reference_of_mark.i, align 8
  %add.ptr12.i = getelementptr inbounds i8, ptr %3, i64 %22
  %23 = load ptr, ptr %add.ptr12.i, align 8
  %cmp13.i = icmp eq ptr %23, %8
  br i1 %cmp13.i, label %if.then14.i, label %cleanup20.i

if.then14.i:                                      ; preds = %if.end10.i
  %add.ptr12.i.le = getelementptr inbounds i8, ptr %3, i64 %22
  store ptr %call7.i, ptr %add.ptr12.i.le, align 8
  br label %return.sink.split.i

cleanup20.i:                                      ; preds = %if.end10.i
  tail call void @Py_DecRef(ptr noundef nonnull %call7.i) #2
  tail call void @Py_DecRef(ptr noundef nonnull %call2.i.i) #2
  tail call void @Py_DecRef(ptr noundef %8) #2
  br label %for.cond.i

return.sink.split.i:                              ; preds = %cond.end.i, %if.end4.i, %if.then14.i, %if.then4.i.i
  %retval.1.i5155.sink.i = phi ptr [ %8, %if.then14.i ], [ null, %if.then4.i.i ], [ %call2.i.i, %cond.end.i ], [ null, %if.end4.i ]
  %retval.4.ph.ph.i = phi ptr [ %call2.i.i, %if.then14.i ], [ null, %if.then4.i.i ], [ null, %if.end4.i ], [ null, %cond.end.i ]
  tail call void @Py_DecRef(ptr noundef %retval.1.i5155.sink.i) #2
  br label %node_of.exit

node_of.exit:                                     ; preds = %if.then.i, %return.sink.split.i
  %retval.4.ph.i = phi ptr [ %retval.4.ph.ph.i, %return.sink.split.i ], [ %call.i, %if.then.i ]
  tail call void @Py_DecRef(ptr noundef %8) #2
  %cmp10 = icmp eq ptr %retval.4.ph.i, null
  br i1 %cmp10, label %if.then11, label %for.inc

if.then11:                                        ; preds = %node_of.exit
  tail call void @Py_DecRef(ptr noundef nonnull %call1) #2
  br label %cleanup17

for.inc:                                          ; preds = %node_of.exit
  %call13 = tail call i32 @PyTuple_SetItem(ptr noundef nonnull %call1, i64 noundef %i.049, ptr noundef nonnull %retval.4.ph.i) #2
  %inc = add nuw nsw i64 %i.049, 1
  %exitcond.not = icmp eq i64 %inc, %count
  br i1 %exitcond.not, label %cleanup17, label %for.body

cleanup17:                                        ; preds = %for.inc, %for.cond.preheader, %if.then5, %if.then11, %entry
  %retval.4 = phi ptr [ null, %entry ], [ null, %if.then11 ], [ %call6, %if.then5 ], [ %call1, %for.cond.preheader ], [ %call1, %for.inc ]
  ret ptr %retval.4
}

declare ptr @PyTuple_New(i64 noundef) local_unnamed_addr #1

declare void @Py_DecRef(ptr noundef) local_unnamed_addr #1

declare ptr @PyObject_Vectorcall(ptr noundef, ptr noundef, i64 noundef, ptr noundef) local_unnamed_addr #1

declare i32 @PyTuple_SetItem(ptr noundef, i64 noundef, ptr noundef) local_unnamed_addr #1

declare void @Py_IncRef(ptr noundef) local_unnamed_addr #1

declare ptr @PyObject_CallNoArgs(ptr noundef) local_unnamed_addr #1

declare ptr @PyWeakref_NewRef(ptr noundef, ptr noundef) local_unnamed_addr #1

declare ptr @PyType_GenericAlloc(ptr noundef, i64 noundef) local_unnamed_addr #1

attributes #0 = { nounwind }
attributes #1 = { nounwind }
attributes #2 = { nounwind }
