; Made from c/passes.c by `make native`.

%struct._typeobject = type opaque
%struct.arguments = type { [5 x ptr] }
%struct.pass = type { ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, %struct.waiting, i64, i64, i64 }
%struct.waiting = type { i64, i64, ptr, ptr }
%struct.values = type { [10 x ptr], i32, i32, i32, i32, [6 x i64], %struct.steps, %struct.steps, %struct.steps, %struct.steps, %struct.steps, [2 x double], [2 x float] }
%struct.steps = type { [6 x i64] }
%struct.axes = type { [6 x %struct.axis] }
%struct.axis = type { i64, [3 x i64], i64 }
%struct.loop = type { [3 x ptr], %struct.operand_steps }
%struct.operand_steps = type { [3 x ptr] }

@pullback_numpy = external local_unnamed_addr global ptr, align 8
@PyFloat_Type = external global %struct._typeobject, align 1

define ptr @NAME_prepare(ptr nocapture noundef readonly %self, ptr nocapture noundef readonly %args, i64 noundef %count) local_unnamed_addr #0 {
entry:
  %data.i = getelementptr inbounds i8, ptr %self, i64 16
  %0 = load ptr, ptr %data.i, align 8
  %call1 = tail call ptr @PyList_New(i64 noundef 0) #11
  %cmp = icmp eq ptr %call1, null
  br i1 %cmp, label %if.then, label %lor.lhs.false

lor.lhs.false:                                    ; preds = %entry
  %1 = load ptr, ptr %args, align 8
  %call2 = tail call i32 @PyList_Append(ptr noundef nonnull %call1, ptr noundef %1) #11
  %cmp3 = icmp slt i32 %call2, 0
  br i1 %cmp3, label %if.then, label %for.cond.preheader

for.cond.preheader:                               ; preds = %lor.lhs.false
  %call483 = tail call i64 @PyList_Size(ptr noundef nonnull %call1) #11
  %cmp5.not84 = icmp sgt i64 %call483, 0
  br i1 %cmp5.not84, label %for.body.lr.ph, label %for.end32

for.body.lr.ph:                                   ; preds = %for.cond.preheader
  %none = getelementptr inbounds i8, ptr %0, i64 8
  %arrayidx16 = getelementptr inbounds i8, ptr %args, i64 8
  %sole8.i = getelementptr inbounds i8, ptr %0, i64 24
  %num_outputs.i = getelementptr inbounds i8, ptr %0, i64 72
  %next_of_node.i = getelementptr inbounds i8, ptr %0, i64 192
  br label %for.body

if.then:                                          ; preds = %lor.lhs.false, %entry
  tail call void @Py_DecRef(ptr noundef %call1) #11
  br label %cleanup35

for.body:                                         ; preds = %for.body.lr.ph, %for.inc28
  %ends.086 = phi i64 [ 0, %for.body.lr.ph ], [ %add67, %for.inc28 ]
  %k.085 = phi i64 [ 0, %for.body.lr.ph ], [ %inc29, %for.inc28 ]
  %call6 = tail call ptr @PyList_GetItem(ptr noundef nonnull %call1, i64 noundef %k.085) #11
  %call7 = tail call i64 @PyTuple_Size(ptr noundef %call6) #11
  %cmp980 = icmp sgt i64 %call7, 0
  br i1 %cmp980, label %for.body11, label %for.inc28

for.body11:                                       ; preds = %for.body, %for.inc
  %i.082 = phi i64 [ %inc, %for.inc ], [ 0, %for.body ]
  %is_end.081 = phi i32 [ %is_end.1.ph, %for.inc ], [ 1, %for.body ]
  %call12 = tail call ptr @PyTuple_GetItem(ptr noundef %call6, i64 noundef %i.082) #11
  %2 = load ptr, ptr %none, align 8
  %cmp13 = icmp eq ptr %call12, %2
  br i1 %cmp13, label %for.inc, label %if.end15

if.end15:                                         ; preds = %for.body11
  %3 = load ptr, ptr %arrayidx16, align 8
  %call.i = tail call ptr @PyDict_GetItemWithError(ptr noundef %3, ptr noundef %call12) #11
  %cmp.i = icmp eq ptr %call.i, null
  br i1 %cmp.i, label %if.then.i, label %if.end7.i

if.then.i:                                        ; preds = %if.end15
  %call2.i = tail call ptr @PyErr_Occurred() #11
  %tobool.not.i = icmp eq ptr %call2.i, null
  br i1 %tobool.not.i, label %lor.lhs.false.i, label %cleanup30

lor.lhs.false.i:                                  ; preds = %if.then.i
  %4 = load ptr, ptr %sole8.i, align 8
  %call3.i = tail call i32 @PyDict_SetItem(ptr noundef %3, ptr noundef %call12, ptr noundef %4) #11
  %cmp4.i = icmp slt i32 %call3.i, 0
  br i1 %cmp4.i, label %cleanup30, label %if.end.i

if.end.i:                                         ; preds = %lor.lhs.false.i
  %5 = load i64, ptr %next_of_node.i, align 8
  %add.ptr.i = getelementptr inbounds i8, ptr %call12, i64 %5
  %6 = load ptr, ptr %add.ptr.i, align 8
  %call6.i = tail call i32 @PyList_Append(ptr noundef nonnull %call1, ptr noundef %6) #11
  br label %count_edge.exit

if.end7.i:                                        ; preds = %if.end15
  %7 = load ptr, ptr %sole8.i, align 8
  %cmp9.not.i = icmp eq ptr %call.i, %7
  br i1 %cmp9.not.i, label %if.end16.i, label %if.then10.i

if.then10.i:                                      ; preds = %if.end7.i
  %call11.i = tail call ptr @PyList_GetItem(ptr noundef nonnull %call.i, i64 noundef 0) #11
  %call12.i = tail call i64 @PyLong_AsLong(ptr noundef %call11.i) #11
  %add.i = add nsw i64 %call12.i, 1
  %call13.i = tail call ptr @PyLong_FromLong(i64 noundef %add.i) #11
  %cmp14.i = icmp eq ptr %call13.i, null
  br i1 %cmp14.i, label %cleanup30, label %cond.false.i

cond.false.i:                                     ; preds = %if.then10.i
  %call15.i = tail call i32 @PyList_SetItem(ptr noundef nonnull %call.i, i64 noundef 0, ptr noundef nonnull %call13.i) #11
  br label %count_edge.exit

if.end16.i:                                       ; preds = %if.end7.i
  %8 = load ptr, ptr %num_outputs.i, align 8
  %call17.i = tail call ptr @PyObject_GetAttr(ptr noundef %call12, ptr noundef %8) #11
  %cmp18.i = icmp eq ptr %call17.i, null
  br i1 %cmp18.i, label %cleanup30, label %if.end20.i

if.end20.i:                                       ; preds = %if.end16.i
  %call21.i = tail call i64 @PyLong_AsLong(ptr noundef nonnull %call17.i) #11
  tail call void @Py_DecRef(ptr noundef nonnull %call17.i) #11
  %call23.i = tail call ptr @PyList_New(i64 noundef 3) #11
  %call25.i = tail call ptr @PyLong_FromLong(i64 noundef 2) #11
  %cmp26.i = icmp eq ptr %call23.i, null
  %cmp29.i = icmp eq ptr %call25.i, null
  %or.cond.i = select i1 %cmp26.i, i1 true, i1 %cmp29.i
  br i1 %or.cond.i, label %if.then31.i, label %if.end32.i

if.then31.i:                                      ; preds = %if.end20.i
  tail call void @Py_DecRef(ptr noundef %call23.i) #11
  tail call void @Py_DecRef(ptr noundef %call25.i) #11
  br label %cleanup30

if.end32.i:                                       ; preds = %if.end20.i
  %cmp22.i = icmp eq i64 %call21.i, 1
  %call33.i = tail call i32 @PyList_SetItem(ptr noundef nonnull %call23.i, i64 noundef 0, ptr noundef nonnull %call25.i) #11
  %9 = load ptr, ptr %none, align 8
  tail call void @Py_IncRef(ptr noundef %9) #11
  %call35.i = tail call i32 @PyList_SetItem(ptr noundef nonnull %call23.i, i64 noundef 1, ptr noundef %9) #11
  %cond40.in.v.i = select i1 %cmp22.i, i64 32, i64 48
  %cond40.in.i = getelementptr inbounds i8, ptr %0, i64 %cond40.in.v.i
  %cond40.i = load ptr, ptr %cond40.in.i, align 8
  tail call void @Py_IncRef(ptr noundef %cond40.i) #11
  %call42.i = tail call i32 @PyList_SetItem(ptr noundef nonnull %call23.i, i64 noundef 2, ptr noundef %cond40.i) #11
  %call43.i = tail call i32 @PyDict_SetItem(ptr noundef %3, ptr noundef %call12, ptr noundef nonnull %call23.i) #11
  tail call void @Py_DecRef(ptr noundef nonnull %call23.i) #11
  br label %count_edge.exit

count_edge.exit:                                  ; preds = %if.end.i, %cond.false.i, %if.end32.i
  %retval.2.i = phi i32 [ %call6.i, %if.end.i ], [ %call15.i, %cond.false.i ], [ %call43.i, %if.end32.i ]
  %cmp18 = icmp slt i32 %retval.2.i, 0
  br i1 %cmp18, label %cleanup30, label %for.inc

for.inc:                                          ; preds = %for.body11, %count_edge.exit
  %is_end.1.ph = phi i32 [ 0, %count_edge.exit ], [ %is_end.081, %for.body11 ]
  %inc = add nuw nsw i64 %i.082, 1
  %exitcond.not = icmp eq i64 %inc, %call7
  br i1 %exitcond.not, label %for.inc28, label %for.body11

for.inc28:                                        ; preds = %for.inc, %for.body
  %is_end.0.lcssa = phi i32 [ 1, %for.body ], [ %is_end.1.ph, %for.inc ]
  %conv66 = zext nneg i32 %is_end.0.lcssa to i64
  %add67 = add nuw nsw i64 %ends.086, %conv66
  %inc29 = add nuw nsw i64 %k.085, 1
  %call4 = tail call i64 @PyList_Size(ptr noundef nonnull %call1) #11
  %cmp5.not = icmp slt i64 %inc29, %call4
  br i1 %cmp5.not, label %for.body, label %for.end32

cleanup30:                                        ; preds = %if.end16.i, %if.then10.i, %if.then.i, %lor.lhs.false.i, %count_edge.exit, %if.then31.i
  tail call void @Py_DecRef(ptr noundef nonnull %call1) #11
  br label %cleanup35

for.end32:                                        ; preds = %for.inc28, %for.cond.preheader
  %ends.0.lcssa = phi i64 [ 0, %for.cond.preheader ], [ %add67, %for.inc28 ]
  tail call void @Py_DecRef(ptr noundef nonnull %call1) #11
  %call33 = tail call ptr @PyLong_FromLong(i64 noundef %ends.0.lcssa) #11
  br label %cleanup35

cleanup35:                                        ; preds = %cleanup30, %for.end32, %if.then
  %retval.6 = phi ptr [ null, %if.then ], [ %call33, %for.end32 ], [ null, %cleanup30 ]
  ret ptr %retval.6
}

declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture) #1

declare ptr @PyList_New(i64 noundef) local_unnamed_addr #2

declare i32 @PyList_Append(ptr noundef, ptr noundef) local_unnamed_addr #2

declare void @Py_DecRef(ptr noundef) local_unnamed_addr #2

declare i64 @PyList_Size(ptr noundef) local_unnamed_addr #2

declare ptr @PyList_GetItem(ptr noundef, i64 noundef) local_unnamed_addr #2

declare i64 @PyTuple_Size(ptr noundef) local_unnamed_addr #2

declare ptr @PyTuple_GetItem(ptr noundef, i64 noundef) local_unnamed_addr #2

declare void @llvm.lifetime.end.p0(i64 immarg, ptr nocapture) #1

declare ptr @PyLong_FromLong(i64 noundef) local_unnamed_addr #2

define noundef ptr @NAME_loop(ptr nocapture noundef readonly %self, ptr nocapture noundef readonly %args, i64 noundef %count) local_unnamed_addr #0 {
entry:
  %type.i.i = alloca ptr, align 8
  %given.i76 = alloca %struct.arguments, align 8
  %given44.i = alloca %struct.arguments, align 8
  %last.sroa.6.i26.i = alloca { ptr, ptr }, align 8
  %last.sroa.6.i.i = alloca { ptr, ptr }, align 8
  %later.sroa.7.i = alloca { ptr, ptr }, align 8
  %given.i = alloca %struct.arguments, align 8
  %given.i.i.i.i = alloca %struct.arguments, align 8
  %given.i.i.i = alloca %struct.arguments, align 8
  %given.i.i = alloca %struct.arguments, align 8
  %pass = alloca %struct.pass, align 8
  call void @llvm.lifetime.start.p0(i64 152, ptr nonnull %pass) #11
  %data.i = getelementptr inbounds i8, ptr %self, i64 16
  %0 = load ptr, ptr %data.i, align 8
  store ptr %0, ptr %pass, align 8
  %task = getelementptr inbounds i8, ptr %pass, i64 8
  %1 = load ptr, ptr %args, align 8
  store ptr %1, ptr %task, align 8
  %entries = getelementptr inbounds i8, ptr %pass, i64 16
  %arrayidx1 = getelementptr inbounds i8, ptr %args, i64 8
  %2 = load ptr, ptr %arrayidx1, align 8
  store ptr %2, ptr %entries, align 8
  %visit = getelementptr inbounds i8, ptr %pass, i64 24
  %arrayidx2 = getelementptr inbounds i8, ptr %args, i64 40
  %3 = load ptr, ptr %arrayidx2, align 8
  store ptr %3, ptr %visit, align 8
  %targets = getelementptr inbounds i8, ptr %pass, i64 32
  %arrayidx3 = getelementptr inbounds i8, ptr %args, i64 48
  %4 = load ptr, ptr %arrayidx3, align 8
  store ptr %4, ptr %targets, align 8
  %keep = getelementptr inbounds i8, ptr %pass, i64 40
  %arrayidx4 = getelementptr inbounds i8, ptr %args, i64 56
  %5 = load ptr, ptr %arrayidx4, align 8
  store ptr %5, ptr %keep, align 8
  %general = getelementptr inbounds i8, ptr %pass, i64 48
  %arrayidx5 = getelementptr inbounds i8, ptr %args, i64 64
  %6 = load ptr, ptr %arrayidx5, align 8
  store ptr %6, ptr %general, align 8
  %arrived = getelementptr inbounds i8, ptr %pass, i64 56
  %arrayidx6 = getelementptr inbounds i8, ptr %args, i64 16
  %7 = load ptr, ptr %arrayidx6, align 8
  tail call void @Py_IncRef(ptr noundef %7) #11
  store ptr %7, ptr %arrived, align 8
  %successors = getelementptr inbounds i8, ptr %pass, i64 64
  %arrayidx8 = getelementptr inbounds i8, ptr %args, i64 24
  %8 = load ptr, ptr %arrayidx8, align 8
  tail call void @Py_IncRef(ptr noundef %8) #11
  store ptr %8, ptr %successors, align 8
  %numbers = getelementptr inbounds i8, ptr %pass, i64 72
  %arrayidx10 = getelementptr inbounds i8, ptr %args, i64 32
  %9 = load ptr, ptr %arrayidx10, align 8
  tail call void @Py_IncRef(ptr noundef %9) #11
  store ptr %9, ptr %numbers, align 8
  %leaves = getelementptr inbounds i8, ptr %pass, i64 80
  %call12 = tail call ptr @PyList_New(i64 noundef 0) #11
  store ptr %call12, ptr %leaves, align 8
  %ready = getelementptr inbounds i8, ptr %pass, i64 88
  %at_hand = getelementptr inbounds i8, ptr %pass, i64 96
  %count13 = getelementptr inbounds i8, ptr %pass, i64 128
  %room = getelementptr inbounds i8, ptr %pass, i64 136
  %stamps = getelementptr inbounds i8, ptr %pass, i64 144
  %cmp.not = icmp eq ptr %call12, null
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(64) %ready, i8 0, i64 64, i1 false)
  br i1 %cmp.not, label %while.end, label %while.body.lr.ph

while.body.lr.ph:                                 ; preds = %entry
  %arrayinit.element.i.i.i = getelementptr inbounds i8, ptr %given.i.i.i, i64 8
  %arrayinit.element29.i.i.i = getelementptr inbounds i8, ptr %given.i.i.i, i64 16
  %arrayinit.element30.i.i.i = getelementptr inbounds i8, ptr %given.i.i.i, i64 24
  %arrayinit.element31.i.i.i = getelementptr inbounds i8, ptr %given.i.i.i, i64 32
  %arrayinit.element.i.i.i.i = getelementptr inbounds i8, ptr %given.i.i.i.i, i64 8
  %arrayinit.element25.i.i.i.i = getelementptr inbounds i8, ptr %given.i.i.i.i, i64 16
  %scevgep.i.i.i.i = getelementptr inbounds i8, ptr %given.i.i.i.i, i64 24
  %arrayinit.element.i.i = getelementptr inbounds i8, ptr %given.i.i, i64 8
  %arrayinit.element25.i.i = getelementptr inbounds i8, ptr %given.i.i, i64 16
  %scevgep.i.i = getelementptr inbounds i8, ptr %given.i.i, i64 24
  %arrayinit.element.i = getelementptr inbounds i8, ptr %given.i, i64 8
  %arrayinit.element9.i = getelementptr inbounds i8, ptr %given.i, i64 16
  %arrayinit.element10.i = getelementptr inbounds i8, ptr %given.i, i64 24
  %arrayinit.cur.ptr.i = getelementptr inbounds i8, ptr %given.i, i64 32
  %node.i = getelementptr inbounds i8, ptr %pass, i64 112
  %gradient4.i = getelementptr inbounds i8, ptr %pass, i64 120
  %arrayinit.element46.i = getelementptr inbounds i8, ptr %given44.i, i64 8
  %arrayinit.element47.i = getelementptr inbounds i8, ptr %given44.i, i64 16
  %arrayinit.element48.i = getelementptr inbounds i8, ptr %given44.i, i64 24
  %arrayinit.element49.i = getelementptr inbounds i8, ptr %given44.i, i64 32
  %arrayinit.element.i94 = getelementptr inbounds i8, ptr %given.i76, i64 8
  %arrayinit.element27.i = getelementptr inbounds i8, ptr %given.i76, i64 16
  %scevgep.i = getelementptr inbounds i8, ptr %given.i76, i64 24
  br label %while.body

while.body:                                       ; preds = %visit.exit, %while.body.lr.ph
  %10 = load ptr, ptr %arrived, align 8
  %ob_type.i.i = getelementptr inbounds i8, ptr %10, i64 8
  %11 = load ptr, ptr %ob_type.i.i, align 8
  %call.i.i = call i64 @PyType_GetFlags(ptr noundef %11) #11
  %12 = and i64 %call.i.i, 67108864
  %tobool.not.i = icmp eq i64 %12, 0
  br i1 %tobool.not.i, label %cond.false.i, label %cond.true.i

cond.true.i:                                      ; preds = %while.body
  %call3.i = call i64 @PyTuple_Size(ptr noundef nonnull %10) #11
  br label %cond.end.i

cond.false.i:                                     ; preds = %while.body
  %call4.i = call i64 @PyList_Size(ptr noundef nonnull %10) #11
  br label %cond.end.i

cond.end.i:                                       ; preds = %cond.false.i, %cond.true.i
  %cond.i = phi i64 [ %call3.i, %cond.true.i ], [ %call4.i, %cond.false.i ]
  %cmp.not40.i = icmp sgt i64 %cond.i, 0
  br i1 %cmp.not40.i, label %for.body.i, label %lor.lhs.false

for.body.i:                                       ; preds = %cond.end.i, %for.inc.i
  %k.041.i = phi i64 [ %inc.i, %for.inc.i ], [ 0, %cond.end.i ]
  br i1 %tobool.not.i, label %cond.false8.i, label %cond.true6.i

cond.true6.i:                                     ; preds = %for.body.i
  %call7.i = call ptr @PyTuple_GetItem(ptr noundef %10, i64 noundef %k.041.i) #11
  br label %cond.end10.i

cond.false8.i:                                    ; preds = %for.body.i
  %call9.i = call ptr @PyList_GetItem(ptr noundef %10, i64 noundef %k.041.i) #11
  br label %cond.end10.i

cond.end10.i:                                     ; preds = %cond.false8.i, %cond.true6.i
  %cond11.i = phi ptr [ %call7.i, %cond.true6.i ], [ %call9.i, %cond.false8.i ]
  call void @Py_IncRef(ptr noundef %cond11.i) #11
  %13 = load ptr, ptr %pass, align 8
  %14 = load ptr, ptr %successors, align 8
  %call.i32.i = call ptr @PyTuple_GetItem(ptr noundef %14, i64 noundef %k.041.i) #11
  %none.i.i = getelementptr inbounds i8, ptr %13, i64 8
  %15 = load ptr, ptr %none.i.i, align 8
  %cmp.i.i = icmp eq ptr %call.i32.i, %15
  br i1 %cmp.i.i, label %if.then.i.i, label %cond.end.i.i

cond.end.i.i:                                     ; preds = %cond.end10.i
  %16 = load ptr, ptr %entries, align 8
  %call3.i.i = call ptr @PyDict_GetItemWithError(ptr noundef %16, ptr noundef %call.i32.i) #11
  %cmp4.i.i = icmp eq ptr %call3.i.i, null
  br i1 %cmp4.i.i, label %if.then.i.i, label %if.end.i.i

if.then.i.i:                                      ; preds = %cond.end.i.i, %cond.end10.i
  call void @Py_DecRef(ptr noundef %cond11.i) #11
  %17 = load ptr, ptr %none.i.i, align 8
  %cmp6.not.i.i = icmp eq ptr %call.i32.i, %17
  br i1 %cmp6.not.i.i, label %for.inc.i, label %land.rhs.i.i

land.rhs.i.i:                                     ; preds = %if.then.i.i
  %call7.i.i = call ptr @PyErr_Occurred() #11
  %tobool.i.i = icmp ne ptr %call7.i.i, null
  %18 = sext i1 %tobool.i.i to i32
  br label %hand_on.exit.i

if.end.i.i:                                       ; preds = %cond.end.i.i
  %sole.i.i = getelementptr inbounds i8, ptr %13, i64 24
  %19 = load ptr, ptr %sole.i.i, align 8
  %cmp9.i.i = icmp eq ptr %call3.i.i, %19
  br i1 %cmp9.i.i, label %if.then10.i.i, label %if.end35.i.i

if.then10.i.i:                                    ; preds = %if.end.i.i
  %20 = load ptr, ptr %numbers, align 8
  %21 = load ptr, ptr %none.i.i, align 8
  %cmp12.i.i = icmp eq ptr %20, %21
  br i1 %cmp12.i.i, label %if.end32.i.i, label %cond.end17.i.i

cond.end17.i.i:                                   ; preds = %if.then10.i.i
  %call16.i.i = call ptr @PyTuple_GetItem(ptr noundef %20, i64 noundef %k.041.i) #11
  %cmp19.not.i.i = icmp eq ptr %call16.i.i, null
  br i1 %cmp19.not.i.i, label %if.end32.i.i, label %land.lhs.true.i.i

land.lhs.true.i.i:                                ; preds = %cond.end17.i.i
  %22 = load ptr, ptr %none.i.i, align 8
  %cmp21.i.i = icmp eq ptr %22, %cond11.i
  br i1 %cmp21.i.i, label %if.then24.i.i, label %lor.lhs.false.i.i

lor.lhs.false.i.i:                                ; preds = %land.lhs.true.i.i
  %call22.i.i = call i64 @PyLong_AsLong(ptr noundef nonnull %call16.i.i) #11
  %cmp23.not.i.i = icmp eq i64 %call22.i.i, 0
  br i1 %cmp23.not.i.i, label %if.end32.i.i, label %if.then24.i.i

if.then24.i.i:                                    ; preds = %lor.lhs.false.i.i, %land.lhs.true.i.i
  call void @llvm.lifetime.start.p0(i64 40, ptr nonnull %given.i.i) #11
  store ptr %call.i32.i, ptr %given.i.i, align 8
  store ptr %call16.i.i, ptr %arrayinit.element.i.i, align 8
  store ptr %cond11.i, ptr %arrayinit.element25.i.i, align 8
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(16) %scevgep.i.i, i8 0, i64 16, i1 false)
  %at_output.i.i = getelementptr inbounds i8, ptr %13, i64 104
  %23 = load ptr, ptr %at_output.i.i, align 8
  %call28.i.i = call ptr @PyObject_Vectorcall(ptr noundef %23, ptr noundef nonnull %given.i.i, i64 noundef 3, ptr noundef null) #11
  call void @Py_DecRef(ptr noundef %cond11.i) #11
  %cmp29.not.i.i = icmp eq ptr %call28.i.i, null
  call void @llvm.lifetime.end.p0(i64 40, ptr nonnull %given.i.i) #11
  br i1 %cmp29.not.i.i, label %while.end.loopexit, label %if.end32.i.i

if.end32.i.i:                                     ; preds = %if.then24.i.i, %lor.lhs.false.i.i, %cond.end17.i.i, %if.then10.i.i
  %gradient.addr.0.i.i = phi ptr [ %cond11.i, %cond.end17.i.i ], [ %call28.i.i, %if.then24.i.i ], [ %cond11.i, %lor.lhs.false.i.i ], [ %cond11.i, %if.then10.i.i ]
  %call33.i.i = call fastcc i32 @make_ready(ptr noundef nonnull %pass, ptr noundef %call.i32.i, ptr noundef %gradient.addr.0.i.i)
  br label %hand_on.exit.i

if.end35.i.i:                                     ; preds = %if.end.i.i
  call void @Py_IncRef(ptr noundef nonnull %call3.i.i) #11
  %24 = load ptr, ptr %none.i.i, align 8
  %cmp37.i.i = icmp eq ptr %24, %cond11.i
  br i1 %cmp37.i.i, label %cond.end41.thread.i.i, label %cond.false39.i.i

cond.false39.i.i:                                 ; preds = %if.end35.i.i
  %25 = load ptr, ptr %pass, align 8
  %call.i.i.i = call ptr @PyList_GetItem(ptr noundef nonnull %call3.i.i, i64 noundef 1) #11
  %call3.i.i.i = call ptr @PyList_GetItem(ptr noundef nonnull %call3.i.i, i64 noundef 2) #11
  %own.i.i.i = getelementptr inbounds i8, ptr %25, i64 40
  %26 = load ptr, ptr %own.i.i.i, align 8
  %cmp.i.i.i = icmp eq ptr %call3.i.i.i, %26
  br i1 %cmp.i.i.i, label %land.lhs.true.i.i.i, label %if.end.i.i.i

land.lhs.true.i.i.i:                              ; preds = %cond.false39.i.i
  %ob_type.i.i.i.i.i = getelementptr inbounds i8, ptr %cond11.i, i64 8
  %27 = load ptr, ptr %ob_type.i.i.i.i.i, align 8
  %28 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx.i.i.i.i = getelementptr inbounds i8, ptr %28, i64 16
  %29 = load ptr, ptr %arrayidx.i.i.i.i, align 8
  %cmp.i.not.i.i.i = icmp eq ptr %27, %29
  br i1 %cmp.i.not.i.i.i, label %if.then.i.i.i, label %if.end.i.i.i

if.then.i.i.i:                                    ; preds = %land.lhs.true.i.i.i
  %ob_type.i.i.i.i.i.i = getelementptr inbounds i8, ptr %call.i.i.i, i64 8
  %30 = load ptr, ptr %ob_type.i.i.i.i.i.i, align 8
  %cmp.i.not.i.i.i.i = icmp eq ptr %30, %27
  br i1 %cmp.i.not.i.i.i.i, label %land.lhs.true.i.i.i.i, label %if.end18.i.i.i.i

land.lhs.true.i.i.i.i:                            ; preds = %if.then.i.i.i
  %descr.i.i.i.i.i.i = getelementptr inbounds i8, ptr %call.i.i.i, i64 56
  %31 = load ptr, ptr %descr.i.i.i.i.i.i, align 8
  %nd.i.i.i.i.i.i = getelementptr inbounds i8, ptr %call.i.i.i, i64 24
  %32 = load i32, ptr %nd.i.i.i.i.i.i, align 8
  %nd.i50.i.i.i.i.i = getelementptr inbounds i8, ptr %cond11.i, i64 24
  %33 = load i32, ptr %nd.i50.i.i.i.i.i, align 8
  %cmp.i59.i.i.i.i = icmp eq i32 %32, %33
  br i1 %cmp.i59.i.i.i.i, label %land.lhs.true.i.i.i.i.i, label %if.end18.i.i.i.i

land.lhs.true.i.i.i.i.i:                          ; preds = %land.lhs.true.i.i.i.i
  %type_num.i.i.i.i.i = getelementptr inbounds i8, ptr %31, i64 28
  %34 = load i32, ptr %type_num.i.i.i.i.i, align 4
  %descr.i51.i.i.i.i.i = getelementptr inbounds i8, ptr %cond11.i, i64 56
  %35 = load ptr, ptr %descr.i51.i.i.i.i.i, align 8
  %type_num4.i.i.i.i.i = getelementptr inbounds i8, ptr %35, i64 28
  %36 = load i32, ptr %type_num4.i.i.i.i.i, align 4
  %cmp5.i.i.i.i.i = icmp eq i32 %34, %36
  %37 = add i32 %34, -11
  %or.cond.i.i.i.i.i = icmp ult i32 %37, 2
  %or.cond49.i.i.i.i.i = and i1 %or.cond.i.i.i.i.i, %cmp5.i.i.i.i.i
  br i1 %or.cond49.i.i.i.i.i, label %land.lhs.true9.i.i.i.i.i, label %if.end18.i.i.i.i

land.lhs.true9.i.i.i.i.i:                         ; preds = %land.lhs.true.i.i.i.i.i
  %byteorder.i.i.i.i.i = getelementptr inbounds i8, ptr %31, i64 26
  %38 = load i8, ptr %byteorder.i.i.i.i.i, align 2
  %cmp11.not.i.i.i.i.i = icmp eq i8 %38, 62
  br i1 %cmp11.not.i.i.i.i.i, label %if.end18.i.i.i.i, label %land.lhs.true13.i.i.i.i.i

land.lhs.true13.i.i.i.i.i:                        ; preds = %land.lhs.true9.i.i.i.i.i
  %byteorder15.i.i.i.i.i = getelementptr inbounds i8, ptr %35, i64 26
  %39 = load i8, ptr %byteorder15.i.i.i.i.i, align 2
  %cmp17.not.i.i.i.i.i = icmp eq i8 %39, 62
  br i1 %cmp17.not.i.i.i.i.i, label %if.end18.i.i.i.i, label %land.lhs.true19.i.i.i.i.i

land.lhs.true19.i.i.i.i.i:                        ; preds = %land.lhs.true13.i.i.i.i.i
  %flags.i.i.i.i.i.i = getelementptr inbounds i8, ptr %call.i.i.i, i64 64
  %40 = load i32, ptr %flags.i.i.i.i.i.i, align 8
  %flags.i54.i.i.i.i.i = getelementptr inbounds i8, ptr %cond11.i, i64 64
  %41 = load i32, ptr %flags.i54.i.i.i.i.i, align 8
  %and.i.i.i.i.i = and i32 %40, 257
  %and22.i.i.i.i.i = and i32 %and.i.i.i.i.i, %41
  %cmp23.i.i.i.i.i = icmp eq i32 %and22.i.i.i.i.i, 257
  br i1 %cmp23.i.i.i.i.i, label %land.lhs.true25.i.i.i.i.i, label %if.end18.i.i.i.i

land.lhs.true25.i.i.i.i.i:                        ; preds = %land.lhs.true19.i.i.i.i.i
  %dimensions.i.i.i.i.i.i = getelementptr inbounds i8, ptr %call.i.i.i, i64 32
  %42 = load ptr, ptr %dimensions.i.i.i.i.i.i, align 8
  %dimensions.i55.i.i.i.i.i = getelementptr inbounds i8, ptr %cond11.i, i64 32
  %43 = load ptr, ptr %dimensions.i55.i.i.i.i.i, align 8
  %conv29.i.i.i.i.i = sext i32 %32 to i64
  %mul.i.i.i.i.i = shl nsw i64 %conv29.i.i.i.i.i, 3
  %bcmp.i.i.i.i.i = call i32 @bcmp(ptr %42, ptr %43, i64 %mul.i.i.i.i.i)
  %cmp31.i.i.i.i.i = icmp eq i32 %bcmp.i.i.i.i.i, 0
  br i1 %cmp31.i.i.i.i.i, label %land.rhs.i.i.i.i.i, label %if.end18.i.i.i.i

land.rhs.i.i.i.i.i:                               ; preds = %land.lhs.true25.i.i.i.i.i
  %cmp6.i.i.i.i.i.i = icmp sgt i32 %32, 0
  br i1 %cmp6.i.i.i.i.i.i, label %for.body.lr.ph.i.i.i.i.i.i, label %land.lhs.true3.thread.i.i.i.i

for.body.lr.ph.i.i.i.i.i.i:                       ; preds = %land.rhs.i.i.i.i.i
  %wide.trip.count.i.i.i.i.i.i = zext nneg i32 %32 to i64
  br label %for.body.i.i.i.i.i.i

for.body.i.i.i.i.i.i:                             ; preds = %for.body.i.i.i.i.i.i, %for.body.lr.ph.i.i.i.i.i.i
  %indvars.iv.i.i.i.i.i.i = phi i64 [ 0, %for.body.lr.ph.i.i.i.i.i.i ], [ %indvars.iv.next.i.i.i.i.i.i, %for.body.i.i.i.i.i.i ]
  %size.07.i.i.i.i.i.i = phi i64 [ 1, %for.body.lr.ph.i.i.i.i.i.i ], [ %mul.i.i.i.i.i.i, %for.body.i.i.i.i.i.i ]
  %arrayidx.i.i.i.i.i.i = getelementptr inbounds i64, ptr %42, i64 %indvars.iv.i.i.i.i.i.i
  %44 = load i64, ptr %arrayidx.i.i.i.i.i.i, align 8
  %mul.i.i.i.i.i.i = mul nsw i64 %44, %size.07.i.i.i.i.i.i
  %indvars.iv.next.i.i.i.i.i.i = add nuw nsw i64 %indvars.iv.i.i.i.i.i.i, 1
  %exitcond.not.i.i.i.i.i.i = icmp eq i64 %indvars.iv.next.i.i.i.i.i.i, %wide.trip.count.i.i.i.i.i.i
  br i1 %exitcond.not.i.i.i.i.i.i, label %are_alike.exit.i.i.i.i, label %for.body.i.i.i.i.i.i

are_alike.exit.i.i.i.i:                           ; preds = %for.body.i.i.i.i.i.i
  %45 = icmp sgt i64 %mul.i.i.i.i.i.i, 512
  %and.i.i.i.i = and i32 %40, 1024
  %tobool5.not.i.i.i.i = icmp eq i32 %and.i.i.i.i, 0
  %or.cond93.i.i.i.i = or i1 %tobool5.not.i.i.i.i, %45
  br i1 %or.cond93.i.i.i.i, label %if.end18.i.i.i.i, label %for.body.lr.ph.i.i.i.i.i

land.lhs.true3.thread.i.i.i.i:                    ; preds = %land.rhs.i.i.i.i.i
  %and88.i.i.i.i = and i32 %40, 1024
  %tobool5.not89.i.i.i.i = icmp eq i32 %and88.i.i.i.i, 0
  br i1 %tobool5.not89.i.i.i.i, label %if.end18.i.i.i.i, label %size_of.exit.i.thread.i.i.i

for.body.lr.ph.i.i.i.i.i:                         ; preds = %are_alike.exit.i.i.i.i
  %data.i.i.i.i.i = getelementptr inbounds i8, ptr %call.i.i.i, i64 16
  %46 = load ptr, ptr %data.i.i.i.i.i, align 8
  %data.i60.i.i.i.i = getelementptr inbounds i8, ptr %cond11.i, i64 16
  %47 = load ptr, ptr %data.i60.i.i.i.i, align 8
  br label %for.body.i.i.i.i.i

for.body.i.i.i.i.i:                               ; preds = %for.body.i.i.i.i.i, %for.body.lr.ph.i.i.i.i.i
  %indvars.iv.i.i.i.i.i = phi i64 [ 0, %for.body.lr.ph.i.i.i.i.i ], [ %indvars.iv.next.i.i.i.i.i, %for.body.i.i.i.i.i ]
  %size.07.i.i.i.i.i = phi i64 [ 1, %for.body.lr.ph.i.i.i.i.i ], [ %mul.i64.i.i.i.i, %for.body.i.i.i.i.i ]
  %arrayidx.i63.i.i.i.i = getelementptr inbounds i64, ptr %42, i64 %indvars.iv.i.i.i.i.i
  %48 = load i64, ptr %arrayidx.i63.i.i.i.i, align 8
  %mul.i64.i.i.i.i = mul nsw i64 %48, %size.07.i.i.i.i.i
  %indvars.iv.next.i.i.i.i.i = add nuw nsw i64 %indvars.iv.i.i.i.i.i, 1
  %exitcond.not.i.i.i.i.i = icmp eq i64 %indvars.iv.next.i.i.i.i.i, %wide.trip.count.i.i.i.i.i.i
  br i1 %exitcond.not.i.i.i.i.i, label %size_of.exit.i.i.i.i, label %for.body.i.i.i.i.i

size_of.exit.i.i.i.i:                             ; preds = %for.body.i.i.i.i.i
  %cmp.i75.i.i.i = icmp eq i32 %34, 12
  %49 = select i1 %cmp.i75.i.i.i, i64 3, i64 2
  %mul.i.i.i.i = shl i64 %mul.i64.i.i.i.i, %49
  %add.ptr.i.i.i.i = getelementptr inbounds i8, ptr %46, i64 %mul.i.i.i.i
  %cmp10.not.i.i.i.i = icmp ugt ptr %add.ptr.i.i.i.i, %47
  %add.ptr12.i.i.i.i = getelementptr inbounds i8, ptr %47, i64 %mul.i.i.i.i
  %cmp13.not.i.i.i.i = icmp ugt ptr %add.ptr12.i.i.i.i, %46
  %or.cond.i.i.i.i = select i1 %cmp10.not.i.i.i.i, i1 %cmp13.not.i.i.i.i, i1 false
  br i1 %or.cond.i.i.i.i, label %if.end18.i.i.i.i, label %for.body.i.i74.i.i.i.i

size_of.exit.i.thread.i.i.i:                      ; preds = %land.lhs.true3.thread.i.i.i.i
  %data.i90.i.i.i.i = getelementptr inbounds i8, ptr %call.i.i.i, i64 16
  %50 = load ptr, ptr %data.i90.i.i.i.i, align 8
  %data.i6091.i.i.i.i = getelementptr inbounds i8, ptr %cond11.i, i64 16
  %51 = load ptr, ptr %data.i6091.i.i.i.i, align 8
  %cmp.i75141.i.i.i = icmp eq i32 %34, 12
  %mul.i142.i.i.i = select i1 %cmp.i75141.i.i.i, i64 8, i64 4
  %add.ptr.i143.i.i.i = getelementptr inbounds i8, ptr %50, i64 %mul.i142.i.i.i
  %cmp10.not.i144.i.i.i = icmp ugt ptr %add.ptr.i143.i.i.i, %51
  %add.ptr12.i145.i.i.i = getelementptr inbounds i8, ptr %51, i64 %mul.i142.i.i.i
  %cmp13.not.i146.i.i.i = icmp ugt ptr %add.ptr12.i145.i.i.i, %50
  %or.cond.i147.i.i.i = select i1 %cmp10.not.i144.i.i.i, i1 %cmp13.not.i146.i.i.i, i1 false
  br i1 %or.cond.i147.i.i.i, label %if.end18.i.i.i.i, label %if.then15.i.thread.i.i.i

if.then15.i.thread.i.i.i:                         ; preds = %size_of.exit.i.thread.i.i.i
  br i1 %cmp.i75141.i.i.i, label %for.body.i70.i.preheader.i.i.i, label %for.body18.i.i.preheader.i.i.i

for.body.i.i74.i.i.i.i:                           ; preds = %size_of.exit.i.i.i.i, %for.body.i.i74.i.i.i.i
  %indvars.iv.i.i75.i.i.i.i = phi i64 [ %indvars.iv.next.i.i79.i.i.i.i, %for.body.i.i74.i.i.i.i ], [ 0, %size_of.exit.i.i.i.i ]
  %size.07.i.i76.i.i.i.i = phi i64 [ %mul.i.i78.i.i.i.i, %for.body.i.i74.i.i.i.i ], [ 1, %size_of.exit.i.i.i.i ]
  %arrayidx.i.i77.i.i.i.i = getelementptr inbounds i64, ptr %42, i64 %indvars.iv.i.i75.i.i.i.i
  %52 = load i64, ptr %arrayidx.i.i77.i.i.i.i, align 8
  %mul.i.i78.i.i.i.i = mul nsw i64 %52, %size.07.i.i76.i.i.i.i
  %indvars.iv.next.i.i79.i.i.i.i = add nuw nsw i64 %indvars.iv.i.i75.i.i.i.i, 1
  %exitcond.not.i.i80.i.i.i.i = icmp eq i64 %indvars.iv.next.i.i79.i.i.i.i, %wide.trip.count.i.i.i.i.i.i
  br i1 %exitcond.not.i.i80.i.i.i.i, label %size_of.exit.i.i.i.i.i, label %for.body.i.i74.i.i.i.i

size_of.exit.i.i.i.i.i:                           ; preds = %for.body.i.i74.i.i.i.i
  %cmp548.i.i.i.i.i = icmp sgt i64 %mul.i.i78.i.i.i.i, 0
  br i1 %cmp.i75.i.i.i, label %if.then.i.i.i.i.i, label %if.else.i.i.i.i.i

if.then.i.i.i.i.i:                                ; preds = %size_of.exit.i.i.i.i.i
  br i1 %cmp548.i.i.i.i.i, label %for.body.i70.i.preheader.i.i.i, label %cond.end41.thread.i.i

for.body.i70.i.preheader.i.i.i:                   ; preds = %if.then.i.i.i.i.i, %if.then15.i.thread.i.i.i
  %53 = phi ptr [ %47, %if.then.i.i.i.i.i ], [ %51, %if.then15.i.thread.i.i.i ]
  %54 = phi ptr [ %46, %if.then.i.i.i.i.i ], [ %50, %if.then15.i.thread.i.i.i ]
  %size.0.lcssa.i.i.i152164.i.i.i = phi i64 [ %mul.i.i78.i.i.i.i, %if.then.i.i.i.i.i ], [ 1, %if.then15.i.thread.i.i.i ]
  br label %for.body.i70.i.i.i.i

for.body.i70.i.i.i.i:                             ; preds = %for.body.i70.i.i.i.i, %for.body.i70.i.preheader.i.i.i
  %k.049.i.i.i.i.i = phi i64 [ %inc.i.i.i.i.i, %for.body.i70.i.i.i.i ], [ 0, %for.body.i70.i.preheader.i.i.i ]
  %arrayidx.i71.i.i.i.i = getelementptr inbounds double, ptr %54, i64 %k.049.i.i.i.i.i
  %55 = load double, ptr %arrayidx.i71.i.i.i.i, align 8
  %arrayidx6.i.i.i.i.i = getelementptr inbounds double, ptr %53, i64 %k.049.i.i.i.i.i
  %56 = load double, ptr %arrayidx6.i.i.i.i.i, align 8
  %add.i.i.i.i.i = fadd double %55, %56
  store double %add.i.i.i.i.i, ptr %arrayidx.i71.i.i.i.i, align 8
  %inc.i.i.i.i.i = add nuw nsw i64 %k.049.i.i.i.i.i, 1
  %exitcond51.not.i.i.i.i.i = icmp eq i64 %inc.i.i.i.i.i, %size.0.lcssa.i.i.i152164.i.i.i
  br i1 %exitcond51.not.i.i.i.i.i, label %cond.end41.thread.i.i, label %for.body.i70.i.i.i.i

if.else.i.i.i.i.i:                                ; preds = %size_of.exit.i.i.i.i.i
  br i1 %cmp548.i.i.i.i.i, label %for.body18.i.i.preheader.i.i.i, label %cond.end41.thread.i.i

for.body18.i.i.preheader.i.i.i:                   ; preds = %if.else.i.i.i.i.i, %if.then15.i.thread.i.i.i
  %57 = phi ptr [ %47, %if.else.i.i.i.i.i ], [ %51, %if.then15.i.thread.i.i.i ]
  %58 = phi ptr [ %46, %if.else.i.i.i.i.i ], [ %50, %if.then15.i.thread.i.i.i ]
  %size.0.lcssa.i.i.i151167.i.i.i = phi i64 [ %mul.i.i78.i.i.i.i, %if.else.i.i.i.i.i ], [ 1, %if.then15.i.thread.i.i.i ]
  br label %for.body18.i.i.i.i.i

for.body18.i.i.i.i.i:                             ; preds = %for.body18.i.i.i.i.i, %for.body18.i.i.preheader.i.i.i
  %k14.047.i.i.i.i.i = phi i64 [ %inc24.i.i.i.i.i, %for.body18.i.i.i.i.i ], [ 0, %for.body18.i.i.preheader.i.i.i ]
  %arrayidx19.i.i.i.i.i = getelementptr inbounds float, ptr %58, i64 %k14.047.i.i.i.i.i
  %59 = load float, ptr %arrayidx19.i.i.i.i.i, align 4
  %arrayidx20.i.i.i.i.i = getelementptr inbounds float, ptr %57, i64 %k14.047.i.i.i.i.i
  %60 = load float, ptr %arrayidx20.i.i.i.i.i, align 4
  %add21.i.i.i.i.i = fadd float %59, %60
  store float %add21.i.i.i.i.i, ptr %arrayidx19.i.i.i.i.i, align 4
  %inc24.i.i.i.i.i = add nuw nsw i64 %k14.047.i.i.i.i.i, 1
  %exitcond.not.i69.i.i.i.i = icmp eq i64 %inc24.i.i.i.i.i, %size.0.lcssa.i.i.i151167.i.i.i
  br i1 %exitcond.not.i69.i.i.i.i, label %cond.end41.thread.i.i, label %for.body18.i.i.i.i.i

if.end18.i.i.i.i:                                 ; preds = %size_of.exit.i.thread.i.i.i, %size_of.exit.i.i.i.i, %land.lhs.true3.thread.i.i.i.i, %are_alike.exit.i.i.i.i, %land.lhs.true25.i.i.i.i.i, %land.lhs.true19.i.i.i.i.i, %land.lhs.true13.i.i.i.i.i, %land.lhs.true9.i.i.i.i.i, %land.lhs.true.i.i.i.i.i, %land.lhs.true.i.i.i.i, %if.then.i.i.i
  %sums.i.i.i.i = getelementptr inbounds i8, ptr %25, i64 88
  %61 = load ptr, ptr %sums.i.i.i.i, align 8
  %add19.i.i.i.i = getelementptr inbounds i8, ptr %25, i64 80
  %62 = load ptr, ptr %add19.i.i.i.i, align 8
  %call20.i.i.i.i = call ptr @PyObject_GetAttr(ptr noundef %61, ptr noundef %62) #11
  %cmp21.i.i.i.i = icmp eq ptr %call20.i.i.i.i, null
  br i1 %cmp21.i.i.i.i, label %cond.end41.thread120.i.i, label %if.end24.i.i.i.i

if.end24.i.i.i.i:                                 ; preds = %if.end18.i.i.i.i
  call void @llvm.lifetime.start.p0(i64 40, ptr nonnull %given.i.i.i.i) #11
  store ptr %call.i.i.i, ptr %given.i.i.i.i, align 8
  store ptr %cond11.i, ptr %arrayinit.element.i.i.i.i, align 8
  store ptr %call.i.i.i, ptr %arrayinit.element25.i.i.i.i, align 8
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(16) %scevgep.i.i.i.i, i8 0, i64 16, i1 false)
  call void @Py_IncRef(ptr noundef %call.i.i.i) #11
  %call28.i.i.i.i = call ptr @PyObject_Vectorcall(ptr noundef nonnull %call20.i.i.i.i, ptr noundef nonnull %given.i.i.i.i, i64 noundef 3, ptr noundef null) #11
  call void @Py_DecRef(ptr noundef %call.i.i.i) #11
  call void @Py_DecRef(ptr noundef nonnull %call20.i.i.i.i) #11
  call void @Py_DecRef(ptr noundef %call28.i.i.i.i) #11
  %cmp29.i.i.i.i = icmp eq ptr %call28.i.i.i.i, null
  %cond31.i.i.i.i = sext i1 %cmp29.i.i.i.i to i32
  call void @llvm.lifetime.end.p0(i64 40, ptr nonnull %given.i.i.i.i) #11
  br label %cond.end41.i.i

if.end.i.i.i:                                     ; preds = %land.lhs.true.i.i.i, %cond.false39.i.i
  %none.i.i.i = getelementptr inbounds i8, ptr %25, i64 8
  %63 = load ptr, ptr %none.i.i.i, align 8
  %cmp6.i.i.i = icmp eq ptr %call.i.i.i, %63
  br i1 %cmp6.i.i.i, label %land.lhs.true7.i.i.i, label %if.end12.i.i.i

land.lhs.true7.i.i.i:                             ; preds = %if.end.i.i.i
  %one.i.i.i = getelementptr inbounds i8, ptr %25, i64 32
  %64 = load ptr, ptr %one.i.i.i, align 8
  %cmp8.i.i.i = icmp eq ptr %call3.i.i.i, %64
  br i1 %cmp8.i.i.i, label %if.then9.i.i.i, label %if.end12.i.i.i

if.then9.i.i.i:                                   ; preds = %land.lhs.true7.i.i.i
  call void @Py_IncRef(ptr noundef %cond11.i) #11
  %call11.i.i.i = call i32 @PyList_SetItem(ptr noundef nonnull %call3.i.i, i64 noundef 1, ptr noundef %cond11.i) #11
  br label %cond.end41.i.i

if.end12.i.i.i:                                   ; preds = %land.lhs.true7.i.i.i, %if.end.i.i.i
  %list.i.i.i = getelementptr inbounds i8, ptr %25, i64 48
  %65 = load ptr, ptr %list.i.i.i, align 8
  %cmp13.not.i.i.i = icmp eq ptr %call3.i.i.i, %65
  br i1 %cmp13.not.i.i.i, label %if.end20.i.i.i, label %if.then14.i.i.i

if.then14.i.i.i:                                  ; preds = %if.end12.i.i.i
  %call.i.i.i.i = call ptr @PyList_GetItem(ptr noundef nonnull %call3.i.i, i64 noundef 1) #11
  %ob_type.i.i.i76.i.i.i = getelementptr inbounds i8, ptr %call.i.i.i.i, i64 8
  %66 = load ptr, ptr %ob_type.i.i.i76.i.i.i, align 8
  %67 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx.i.i77.i.i.i = getelementptr inbounds i8, ptr %67, i64 16
  %68 = load ptr, ptr %arrayidx.i.i77.i.i.i, align 8
  %cmp.i.not.i78.i.i.i = icmp eq ptr %66, %68
  br i1 %cmp.i.not.i78.i.i.i, label %lor.lhs.false.i.i.i.i, label %if.end20.i.i.i

lor.lhs.false.i.i.i.i:                            ; preds = %if.then14.i.i.i
  %ob_type.i.i33.i.i.i.i = getelementptr inbounds i8, ptr %cond11.i, i64 8
  %69 = load ptr, ptr %ob_type.i.i33.i.i.i.i, align 8
  %cmp.i35.not.i.i.i.i = icmp eq ptr %69, %66
  br i1 %cmp.i35.not.i.i.i.i, label %lor.lhs.false5.i.i.i.i, label %if.end20.i.i.i

lor.lhs.false5.i.i.i.i:                           ; preds = %lor.lhs.false.i.i.i.i
  %descr.i.i.i79.i.i.i = getelementptr inbounds i8, ptr %call.i.i.i.i, i64 56
  %70 = load ptr, ptr %descr.i.i.i79.i.i.i, align 8
  %nd.i.i.i80.i.i.i = getelementptr inbounds i8, ptr %call.i.i.i.i, i64 24
  %71 = load i32, ptr %nd.i.i.i80.i.i.i, align 8
  %nd.i50.i.i81.i.i.i = getelementptr inbounds i8, ptr %cond11.i, i64 24
  %72 = load i32, ptr %nd.i50.i.i81.i.i.i, align 8
  %cmp.i37.i.i.i.i = icmp eq i32 %71, %72
  br i1 %cmp.i37.i.i.i.i, label %land.lhs.true.i.i82.i.i.i, label %if.end20.i.i.i

land.lhs.true.i.i82.i.i.i:                        ; preds = %lor.lhs.false5.i.i.i.i
  %type_num.i.i83.i.i.i = getelementptr inbounds i8, ptr %70, i64 28
  %73 = load i32, ptr %type_num.i.i83.i.i.i, align 4
  %descr.i51.i.i84.i.i.i = getelementptr inbounds i8, ptr %cond11.i, i64 56
  %74 = load ptr, ptr %descr.i51.i.i84.i.i.i, align 8
  %type_num4.i.i85.i.i.i = getelementptr inbounds i8, ptr %74, i64 28
  %75 = load i32, ptr %type_num4.i.i85.i.i.i, align 4
  %cmp5.i.i86.i.i.i = icmp eq i32 %73, %75
  %76 = add i32 %73, -11
  %or.cond.i.i87.i.i.i = icmp ult i32 %76, 2
  %or.cond49.i.i88.i.i.i = and i1 %or.cond.i.i87.i.i.i, %cmp5.i.i86.i.i.i
  br i1 %or.cond49.i.i88.i.i.i, label %land.lhs.true9.i.i89.i.i.i, label %if.end20.i.i.i

land.lhs.true9.i.i89.i.i.i:                       ; preds = %land.lhs.true.i.i82.i.i.i
  %byteorder.i.i90.i.i.i = getelementptr inbounds i8, ptr %70, i64 26
  %77 = load i8, ptr %byteorder.i.i90.i.i.i, align 2
  %cmp11.not.i.i91.i.i.i = icmp eq i8 %77, 62
  br i1 %cmp11.not.i.i91.i.i.i, label %if.end20.i.i.i, label %land.lhs.true13.i.i92.i.i.i

land.lhs.true13.i.i92.i.i.i:                      ; preds = %land.lhs.true9.i.i89.i.i.i
  %byteorder15.i.i93.i.i.i = getelementptr inbounds i8, ptr %74, i64 26
  %78 = load i8, ptr %byteorder15.i.i93.i.i.i, align 2
  %cmp17.not.i.i94.i.i.i = icmp eq i8 %78, 62
  br i1 %cmp17.not.i.i94.i.i.i, label %if.end20.i.i.i, label %land.lhs.true19.i.i95.i.i.i

land.lhs.true19.i.i95.i.i.i:                      ; preds = %land.lhs.true13.i.i92.i.i.i
  %flags.i.i.i96.i.i.i = getelementptr inbounds i8, ptr %call.i.i.i.i, i64 64
  %79 = load i32, ptr %flags.i.i.i96.i.i.i, align 8
  %flags.i54.i.i97.i.i.i = getelementptr inbounds i8, ptr %cond11.i, i64 64
  %80 = load i32, ptr %flags.i54.i.i97.i.i.i, align 8
  %and.i.i98.i.i.i = and i32 %79, 257
  %and22.i.i99.i.i.i = and i32 %and.i.i98.i.i.i, %80
  %cmp23.i.i100.i.i.i = icmp eq i32 %and22.i.i99.i.i.i, 257
  br i1 %cmp23.i.i100.i.i.i, label %land.lhs.true25.i.i101.i.i.i, label %if.end20.i.i.i

land.lhs.true25.i.i101.i.i.i:                     ; preds = %land.lhs.true19.i.i95.i.i.i
  %dimensions.i.i.i102.i.i.i = getelementptr inbounds i8, ptr %call.i.i.i.i, i64 32
  %81 = load ptr, ptr %dimensions.i.i.i102.i.i.i, align 8
  %dimensions.i55.i.i103.i.i.i = getelementptr inbounds i8, ptr %cond11.i, i64 32
  %82 = load ptr, ptr %dimensions.i55.i.i103.i.i.i, align 8
  %conv29.i.i104.i.i.i = sext i32 %71 to i64
  %mul.i.i105.i.i.i = shl nsw i64 %conv29.i.i104.i.i.i, 3
  %bcmp.i.i106.i.i.i = call i32 @bcmp(ptr %81, ptr %82, i64 %mul.i.i105.i.i.i)
  %cmp31.i.i107.i.i.i = icmp eq i32 %bcmp.i.i106.i.i.i, 0
  br i1 %cmp31.i.i107.i.i.i, label %land.rhs.i.i108.i.i.i, label %if.end20.i.i.i

land.rhs.i.i108.i.i.i:                            ; preds = %land.lhs.true25.i.i101.i.i.i
  %cmp6.i.i.i109.i.i.i = icmp sgt i32 %71, 0
  br i1 %cmp6.i.i.i109.i.i.i, label %for.body.lr.ph.i.i.i130.i.i.i, label %if.end.i.i.i.i

for.body.lr.ph.i.i.i130.i.i.i:                    ; preds = %land.rhs.i.i108.i.i.i
  %wide.trip.count.i.i.i131.i.i.i = zext nneg i32 %71 to i64
  br label %for.body.i.i.i132.i.i.i

for.body.i.i.i132.i.i.i:                          ; preds = %for.body.i.i.i132.i.i.i, %for.body.lr.ph.i.i.i130.i.i.i
  %indvars.iv.i.i.i133.i.i.i = phi i64 [ 0, %for.body.lr.ph.i.i.i130.i.i.i ], [ %indvars.iv.next.i.i.i137.i.i.i, %for.body.i.i.i132.i.i.i ]
  %size.07.i.i.i134.i.i.i = phi i64 [ 1, %for.body.lr.ph.i.i.i130.i.i.i ], [ %mul.i.i.i136.i.i.i, %for.body.i.i.i132.i.i.i ]
  %arrayidx.i.i.i135.i.i.i = getelementptr inbounds i64, ptr %81, i64 %indvars.iv.i.i.i133.i.i.i
  %83 = load i64, ptr %arrayidx.i.i.i135.i.i.i, align 8
  %mul.i.i.i136.i.i.i = mul nsw i64 %83, %size.07.i.i.i134.i.i.i
  %indvars.iv.next.i.i.i137.i.i.i = add nuw nsw i64 %indvars.iv.i.i.i133.i.i.i, 1
  %exitcond.not.i.i.i138.i.i.i = icmp eq i64 %indvars.iv.next.i.i.i137.i.i.i, %wide.trip.count.i.i.i131.i.i.i
  br i1 %exitcond.not.i.i.i138.i.i.i, label %are_alike.exit.i139.i.i.i, label %for.body.i.i.i132.i.i.i

are_alike.exit.i139.i.i.i:                        ; preds = %for.body.i.i.i132.i.i.i
  %84 = icmp sgt i64 %mul.i.i.i136.i.i.i, 512
  br i1 %84, label %if.end20.i.i.i, label %if.end.i.i.i.i

if.end.i.i.i.i:                                   ; preds = %are_alike.exit.i139.i.i.i, %land.rhs.i.i108.i.i.i
  call void @Py_IncRef(ptr noundef %70) #11
  %85 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx.i110.i.i.i = getelementptr inbounds i8, ptr %85, i64 752
  %86 = load ptr, ptr %arrayidx.i110.i.i.i, align 8
  %arrayidx9.i.i.i.i = getelementptr inbounds i8, ptr %85, i64 16
  %87 = load ptr, ptr %arrayidx9.i.i.i.i, align 8
  %88 = load ptr, ptr %descr.i.i.i79.i.i.i, align 8
  %89 = load i32, ptr %nd.i.i.i80.i.i.i, align 8
  %90 = load ptr, ptr %dimensions.i.i.i102.i.i.i, align 8
  %call13.i.i.i.i = call ptr %86(ptr noundef %87, ptr noundef %88, i32 noundef %89, ptr noundef %90, ptr noundef null, ptr noundef null, i32 noundef 0, ptr noundef null) #11
  %cmp.i111.i.i.i = icmp eq ptr %call13.i.i.i.i, null
  br i1 %cmp.i111.i.i.i, label %cond.end41.thread120.i.i, label %if.end15.i.i.i.i

if.end15.i.i.i.i:                                 ; preds = %if.end.i.i.i.i
  %91 = load i32, ptr %nd.i.i.i80.i.i.i, align 8
  %cmp6.i.i39.i.i.i.i = icmp sgt i32 %91, 0
  br i1 %cmp6.i.i39.i.i.i.i, label %for.body.lr.ph.i.i44.i.i.i.i, label %size_of.exit.i.i112.i.i.i

for.body.lr.ph.i.i44.i.i.i.i:                     ; preds = %if.end15.i.i.i.i
  %92 = load ptr, ptr %dimensions.i.i.i102.i.i.i, align 8
  %wide.trip.count.i.i45.i.i.i.i = zext nneg i32 %91 to i64
  br label %for.body.i.i46.i.i.i.i

for.body.i.i46.i.i.i.i:                           ; preds = %for.body.i.i46.i.i.i.i, %for.body.lr.ph.i.i44.i.i.i.i
  %indvars.iv.i.i47.i.i.i.i = phi i64 [ 0, %for.body.lr.ph.i.i44.i.i.i.i ], [ %indvars.iv.next.i.i51.i.i.i.i, %for.body.i.i46.i.i.i.i ]
  %size.07.i.i48.i.i.i.i = phi i64 [ 1, %for.body.lr.ph.i.i44.i.i.i.i ], [ %mul.i.i50.i.i.i.i, %for.body.i.i46.i.i.i.i ]
  %arrayidx.i.i49.i.i.i.i = getelementptr inbounds i64, ptr %92, i64 %indvars.iv.i.i47.i.i.i.i
  %93 = load i64, ptr %arrayidx.i.i49.i.i.i.i, align 8
  %mul.i.i50.i.i.i.i = mul nsw i64 %93, %size.07.i.i48.i.i.i.i
  %indvars.iv.next.i.i51.i.i.i.i = add nuw nsw i64 %indvars.iv.i.i47.i.i.i.i, 1
  %exitcond.not.i.i52.i.i.i.i = icmp eq i64 %indvars.iv.next.i.i51.i.i.i.i, %wide.trip.count.i.i45.i.i.i.i
  br i1 %exitcond.not.i.i52.i.i.i.i, label %size_of.exit.i.i112.i.i.i, label %for.body.i.i46.i.i.i.i

size_of.exit.i.i112.i.i.i:                        ; preds = %for.body.i.i46.i.i.i.i, %if.end15.i.i.i.i
  %size.0.lcssa.i.i.i113.i.i.i = phi i64 [ 1, %if.end15.i.i.i.i ], [ %mul.i.i50.i.i.i.i, %for.body.i.i46.i.i.i.i ]
  %94 = load ptr, ptr %descr.i.i.i79.i.i.i, align 8
  %type_num.i41.i.i.i.i = getelementptr inbounds i8, ptr %94, i64 28
  %95 = load i32, ptr %type_num.i41.i.i.i.i, align 4
  %cmp.i42.i.i.i.i = icmp eq i32 %95, 12
  %data.i.i.i.i.i.i = getelementptr inbounds i8, ptr %call.i.i.i.i, i64 16
  %96 = load ptr, ptr %data.i.i.i.i.i.i, align 8
  %data.i40.i.i.i.i.i = getelementptr inbounds i8, ptr %cond11.i, i64 16
  %97 = load ptr, ptr %data.i40.i.i.i.i.i, align 8
  %data.i41.i.i.i.i.i = getelementptr inbounds i8, ptr %call13.i.i.i.i, i64 16
  %98 = load ptr, ptr %data.i41.i.i.i.i.i, align 8
  %cmp548.i.i114.i.i.i = icmp sgt i64 %size.0.lcssa.i.i.i113.i.i.i, 0
  br i1 %cmp.i42.i.i.i.i, label %if.then.i.i123.i.i.i, label %if.else.i.i115.i.i.i

if.then.i.i123.i.i.i:                             ; preds = %size_of.exit.i.i112.i.i.i
  br i1 %cmp548.i.i114.i.i.i, label %for.body.i.i124.i.i.i, label %add_elements.exit.i.i.i.i

for.body.i.i124.i.i.i:                            ; preds = %if.then.i.i123.i.i.i, %for.body.i.i124.i.i.i
  %k.049.i.i125.i.i.i = phi i64 [ %inc.i.i128.i.i.i, %for.body.i.i124.i.i.i ], [ 0, %if.then.i.i123.i.i.i ]
  %arrayidx.i43.i.i.i.i = getelementptr inbounds double, ptr %96, i64 %k.049.i.i125.i.i.i
  %99 = load double, ptr %arrayidx.i43.i.i.i.i, align 8
  %arrayidx6.i.i126.i.i.i = getelementptr inbounds double, ptr %97, i64 %k.049.i.i125.i.i.i
  %100 = load double, ptr %arrayidx6.i.i126.i.i.i, align 8
  %add.i.i127.i.i.i = fadd double %99, %100
  %arrayidx7.i.i.i.i.i = getelementptr inbounds double, ptr %98, i64 %k.049.i.i125.i.i.i
  store double %add.i.i127.i.i.i, ptr %arrayidx7.i.i.i.i.i, align 8
  %inc.i.i128.i.i.i = add nuw nsw i64 %k.049.i.i125.i.i.i, 1
  %exitcond51.not.i.i129.i.i.i = icmp eq i64 %inc.i.i128.i.i.i, %size.0.lcssa.i.i.i113.i.i.i
  br i1 %exitcond51.not.i.i129.i.i.i, label %add_elements.exit.i.i.i.i, label %for.body.i.i124.i.i.i

if.else.i.i115.i.i.i:                             ; preds = %size_of.exit.i.i112.i.i.i
  br i1 %cmp548.i.i114.i.i.i, label %for.body18.i.i116.i.i.i, label %add_elements.exit.i.i.i.i

for.body18.i.i116.i.i.i:                          ; preds = %if.else.i.i115.i.i.i, %for.body18.i.i116.i.i.i
  %k14.047.i.i117.i.i.i = phi i64 [ %inc24.i.i121.i.i.i, %for.body18.i.i116.i.i.i ], [ 0, %if.else.i.i115.i.i.i ]
  %arrayidx19.i.i118.i.i.i = getelementptr inbounds float, ptr %96, i64 %k14.047.i.i117.i.i.i
  %101 = load float, ptr %arrayidx19.i.i118.i.i.i, align 4
  %arrayidx20.i.i119.i.i.i = getelementptr inbounds float, ptr %97, i64 %k14.047.i.i117.i.i.i
  %102 = load float, ptr %arrayidx20.i.i119.i.i.i, align 4
  %add21.i.i120.i.i.i = fadd float %101, %102
  %arrayidx22.i.i.i.i.i = getelementptr inbounds float, ptr %98, i64 %k14.047.i.i117.i.i.i
  store float %add21.i.i120.i.i.i, ptr %arrayidx22.i.i.i.i.i, align 4
  %inc24.i.i121.i.i.i = add nuw nsw i64 %k14.047.i.i117.i.i.i, 1
  %exitcond.not.i.i122.i.i.i = icmp eq i64 %inc24.i.i121.i.i.i, %size.0.lcssa.i.i.i113.i.i.i
  br i1 %exitcond.not.i.i122.i.i.i, label %add_elements.exit.i.i.i.i, label %for.body18.i.i116.i.i.i

add_elements.exit.i.i.i.i:                        ; preds = %for.body18.i.i116.i.i.i, %for.body.i.i124.i.i.i, %if.else.i.i115.i.i.i, %if.then.i.i123.i.i.i
  %call16.i.i.i.i = call i32 @PyList_SetItem(ptr noundef nonnull %call3.i.i, i64 noundef 1, ptr noundef nonnull %call13.i.i.i.i) #11
  %103 = load ptr, ptr %own.i.i.i, align 8
  call void @Py_IncRef(ptr noundef %103) #11
  %call18.i.i.i.i = call i32 @PyList_SetItem(ptr noundef nonnull %call3.i.i, i64 noundef 2, ptr noundef %103) #11
  br label %cond.end41.thread.i.i

if.end20.i.i.i:                                   ; preds = %are_alike.exit.i139.i.i.i, %land.lhs.true25.i.i101.i.i.i, %land.lhs.true19.i.i95.i.i.i, %land.lhs.true13.i.i92.i.i.i, %land.lhs.true9.i.i89.i.i.i, %land.lhs.true.i.i82.i.i.i, %lor.lhs.false5.i.i.i.i, %lor.lhs.false.i.i.i.i, %if.then14.i.i.i, %if.end12.i.i.i
  %104 = load ptr, ptr %numbers, align 8
  %105 = load ptr, ptr %none.i.i.i, align 8
  %cmp22.i.i.i = icmp eq ptr %104, %105
  br i1 %cmp22.i.i.i, label %cond.true.i.i.i, label %cond.false.i.i.i

cond.true.i.i.i:                                  ; preds = %if.end20.i.i.i
  %call23.i.i.i = call ptr @PyLong_FromLong(i64 noundef 0) #11
  br label %cond.end.i.i.i

cond.false.i.i.i:                                 ; preds = %if.end20.i.i.i
  %call25.i.i.i = call ptr @PyTuple_GetItem(ptr noundef %104, i64 noundef %k.041.i) #11
  call void @Py_IncRef(ptr noundef %call25.i.i.i) #11
  br label %cond.end.i.i.i

cond.end.i.i.i:                                   ; preds = %cond.false.i.i.i, %cond.true.i.i.i
  %cond27.i.i.i = phi ptr [ %call23.i.i.i, %cond.true.i.i.i ], [ %call25.i.i.i, %cond.false.i.i.i ]
  %call28.i.i.i = call ptr @PyBool_FromLong(i64 noundef 0) #11
  call void @llvm.lifetime.start.p0(i64 40, ptr nonnull %given.i.i.i) #11
  store ptr %call3.i.i, ptr %given.i.i.i, align 8
  store ptr %call.i32.i, ptr %arrayinit.element.i.i.i, align 8
  store ptr %cond27.i.i.i, ptr %arrayinit.element29.i.i.i, align 8
  store ptr %cond11.i, ptr %arrayinit.element30.i.i.i, align 8
  store ptr %call28.i.i.i, ptr %arrayinit.element31.i.i.i, align 8
  %cmp33.i.i.i = icmp eq ptr %cond27.i.i.i, null
  br i1 %cmp33.i.i.i, label %cond.end38.i.i.i, label %cond.false35.i.i.i

cond.false35.i.i.i:                               ; preds = %cond.end.i.i.i
  %add_new.i.i.i = getelementptr inbounds i8, ptr %25, i64 96
  %106 = load ptr, ptr %add_new.i.i.i, align 8
  %call37.i.i.i = call ptr @PyObject_Vectorcall(ptr noundef %106, ptr noundef nonnull %given.i.i.i, i64 noundef 5, ptr noundef null) #11
  br label %cond.end38.i.i.i

cond.end38.i.i.i:                                 ; preds = %cond.false35.i.i.i, %cond.end.i.i.i
  %cond39.i.i.i = phi ptr [ %call37.i.i.i, %cond.false35.i.i.i ], [ null, %cond.end.i.i.i ]
  call void @Py_DecRef(ptr noundef %cond27.i.i.i) #11
  call void @Py_DecRef(ptr noundef %call28.i.i.i) #11
  call void @Py_DecRef(ptr noundef %cond39.i.i.i) #11
  %cmp40.i.i.i = icmp eq ptr %cond39.i.i.i, null
  %cond41.i.i.i = sext i1 %cmp40.i.i.i to i32
  call void @llvm.lifetime.end.p0(i64 40, ptr nonnull %given.i.i.i) #11
  br label %cond.end41.i.i

cond.end41.thread.i.i:                            ; preds = %for.body18.i.i.i.i.i, %for.body.i70.i.i.i.i, %add_elements.exit.i.i.i.i, %if.else.i.i.i.i.i, %if.then.i.i.i.i.i, %if.end35.i.i
  call void @Py_DecRef(ptr noundef %cond11.i) #11
  br label %if.then44.i.i

cond.end41.thread120.i.i:                         ; preds = %if.end.i.i.i.i, %if.end18.i.i.i.i
  call void @Py_DecRef(ptr noundef %cond11.i) #11
  br label %if.end64.i.i

cond.end41.i.i:                                   ; preds = %cond.end38.i.i.i, %if.then9.i.i.i, %if.end24.i.i.i.i
  %cond42.i.i = phi i32 [ %call11.i.i.i, %if.then9.i.i.i ], [ %cond41.i.i.i, %cond.end38.i.i.i ], [ %cond31.i.i.i.i, %if.end24.i.i.i.i ]
  call void @Py_DecRef(ptr noundef %cond11.i) #11
  %cmp43.i.i = icmp eq i32 %cond42.i.i, 0
  br i1 %cmp43.i.i, label %if.then44.i.i, label %if.end64.i.i

if.then44.i.i:                                    ; preds = %cond.end41.i.i, %cond.end41.thread.i.i
  %call45.i.i = call ptr @PyList_GetItem(ptr noundef nonnull %call3.i.i, i64 noundef 0) #11
  %call46.i.i = call i64 @PyLong_AsLong(ptr noundef %call45.i.i) #11
  %sub.i.i = add nsw i64 %call46.i.i, -1
  %cmp47.not.i.i = icmp eq i64 %sub.i.i, 0
  br i1 %cmp47.not.i.i, label %if.else.i.i, label %if.then48.i.i

if.then48.i.i:                                    ; preds = %if.then44.i.i
  %call50.i.i = call ptr @PyLong_FromLong(i64 noundef %sub.i.i) #11
  %cmp51.i.i = icmp eq ptr %call50.i.i, null
  br i1 %cmp51.i.i, label %if.end64.i.i, label %cond.false53.i.i

cond.false53.i.i:                                 ; preds = %if.then48.i.i
  %call54.i.i = call i32 @PyList_SetItem(ptr noundef nonnull %call3.i.i, i64 noundef 0, ptr noundef nonnull %call50.i.i) #11
  br label %if.end64.i.i

if.else.i.i:                                      ; preds = %if.then44.i.i
  %call57.i.i = call ptr @PyList_GetItem(ptr noundef nonnull %call3.i.i, i64 noundef 1) #11
  call void @Py_IncRef(ptr noundef %call57.i.i) #11
  %107 = load ptr, ptr %none.i.i, align 8
  call void @Py_IncRef(ptr noundef %107) #11
  %call61.i.i = call i32 @PyList_SetItem(ptr noundef nonnull %call3.i.i, i64 noundef 1, ptr noundef %107) #11
  %call62.i.i = call fastcc i32 @make_ready(ptr noundef nonnull %pass, ptr noundef %call.i32.i, ptr noundef %call57.i.i)
  br label %if.end64.i.i

if.end64.i.i:                                     ; preds = %if.else.i.i, %cond.false53.i.i, %if.then48.i.i, %cond.end41.i.i, %cond.end41.thread120.i.i
  %wrong.1.i.i = phi i32 [ %cond42.i.i, %cond.end41.i.i ], [ %call62.i.i, %if.else.i.i ], [ %call54.i.i, %cond.false53.i.i ], [ -1, %if.then48.i.i ], [ -1, %cond.end41.thread120.i.i ]
  call void @Py_DecRef(ptr noundef nonnull %call3.i.i) #11
  br label %hand_on.exit.i

hand_on.exit.i:                                   ; preds = %if.end64.i.i, %if.end32.i.i, %land.rhs.i.i
  %retval.2.i.i = phi i32 [ %wrong.1.i.i, %if.end64.i.i ], [ %18, %land.rhs.i.i ], [ %call33.i.i, %if.end32.i.i ]
  %cmp14.i = icmp slt i32 %retval.2.i.i, 0
  br i1 %cmp14.i, label %while.end.loopexit, label %for.inc.i

for.inc.i:                                        ; preds = %hand_on.exit.i, %if.then.i.i
  %inc.i = add nuw nsw i64 %k.041.i, 1
  %exitcond.not.i = icmp eq i64 %inc.i, %cond.i
  br i1 %exitcond.not.i, label %lor.lhs.false, label %for.body.i

lor.lhs.false:                                    ; preds = %for.inc.i, %cond.end.i
  store ptr null, ptr %arrived, align 8
  call void @Py_DecRef(ptr noundef %10) #11
  %108 = load ptr, ptr %leaves, align 8
  %call.i = call i64 @PyList_Size(ptr noundef %108) #11
  %cmp.i = icmp eq i64 %call.i, 0
  br i1 %cmp.i, label %cond.false, label %if.end.i

if.end.i:                                         ; preds = %lor.lhs.false
  %call2.i = call ptr @PyList_New(i64 noundef 0) #11
  store ptr %call2.i, ptr %leaves, align 8
  %cmp5.i = icmp eq ptr %call2.i, null
  br i1 %cmp5.i, label %visit_leaves.exit.thread, label %visit_leaves.exit

visit_leaves.exit.thread:                         ; preds = %if.end.i
  store ptr %108, ptr %leaves, align 8
  br label %while.end.loopexit

visit_leaves.exit:                                ; preds = %if.end.i
  call void @llvm.lifetime.start.p0(i64 40, ptr nonnull %given.i) #11
  %109 = load ptr, ptr %task, align 8
  store ptr %109, ptr %given.i, align 8
  store ptr %108, ptr %arrayinit.element.i, align 8
  %110 = load ptr, ptr %pass, align 8
  %true_.i = getelementptr inbounds i8, ptr %110, i64 16
  %111 = load ptr, ptr %true_.i, align 8
  store ptr %111, ptr %arrayinit.element9.i, align 8
  %112 = load ptr, ptr %general, align 8
  store ptr %112, ptr %arrayinit.element10.i, align 8
  store ptr null, ptr %arrayinit.cur.ptr.i, align 8
  %visit_leaves.i = getelementptr inbounds i8, ptr %110, i64 112
  %113 = load ptr, ptr %visit_leaves.i, align 8
  %call14.i = call ptr @PyObject_Vectorcall(ptr noundef %113, ptr noundef nonnull %given.i, i64 noundef 4, ptr noundef null) #11
  call void @Py_DecRef(ptr noundef %108) #11
  call void @Py_DecRef(ptr noundef %call14.i) #11
  %cmp15.i = icmp eq ptr %call14.i, null
  call void @llvm.lifetime.end.p0(i64 40, ptr nonnull %given.i) #11
  br i1 %cmp15.i, label %while.end.loopexit, label %cond.false

cond.false:                                       ; preds = %lor.lhs.false, %visit_leaves.exit
  %114 = load i64, ptr %count13, align 8
  %cmp.i61 = icmp sgt i64 %114, 0
  br i1 %cmp.i61, label %if.then.i, label %cond.end

if.then.i:                                        ; preds = %cond.false
  %115 = load ptr, ptr %node.i, align 8
  %cmp1.i = icmp eq ptr %115, null
  %116 = load ptr, ptr %ready, align 8
  br i1 %cmp1.i, label %if.then2.i, label %if.else.i

if.then2.i:                                       ; preds = %if.then.i
  call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(32) %at_hand, ptr noundef nonnull align 8 dereferenceable(32) %116, i64 32, i1 false)
  call void @llvm.lifetime.start.p0(i64 16, ptr nonnull %last.sroa.6.i.i)
  %dec.i.i = add nsw i64 %114, -1
  store i64 %dec.i.i, ptr %count13, align 8
  %arrayidx2.i.i = getelementptr inbounds %struct.waiting, ptr %116, i64 %dec.i.i
  %last.sroa.0.0.copyload.i.i = load i64, ptr %arrayidx2.i.i, align 8
  %last.sroa.5.0.arrayidx2.sroa_idx.i.i = getelementptr inbounds i8, ptr %arrayidx2.i.i, i64 8
  %last.sroa.5.0.copyload.i.i = load i64, ptr %last.sroa.5.0.arrayidx2.sroa_idx.i.i, align 8
  %last.sroa.6.0.arrayidx2.sroa_idx.i.i = getelementptr inbounds i8, ptr %arrayidx2.i.i, i64 16
  call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(16) %last.sroa.6.i.i, ptr noundef nonnull align 8 dereferenceable(16) %last.sroa.6.0.arrayidx2.sroa_idx.i.i, i64 16, i1 false)
  %cmp59.i.i = icmp ugt i64 %114, 2
  br i1 %cmp59.i.i, label %while.body.i.i, label %while.end.i.i

while.body.i.i:                                   ; preds = %if.then2.i, %if.end17.i.i
  %117 = phi i64 [ %124, %if.end17.i.i ], [ %dec.i.i, %if.then2.i ]
  %add62.i.i = phi i64 [ %add.i.i, %if.end17.i.i ], [ 1, %if.then2.i ]
  %mul61.i.i = phi i64 [ %mul.i.i, %if.end17.i.i ], [ 0, %if.then2.i ]
  %place.060.i.i = phi i64 [ %below.0.i.i, %if.end17.i.i ], [ 0, %if.then2.i ]
  %add4.i.i = add nsw i64 %mul61.i.i, 2
  %cmp6.i.i = icmp slt i64 %add4.i.i, %117
  %.pre.i.i = load ptr, ptr %ready, align 8
  br i1 %cmp6.i.i, label %land.lhs.true.i.i72, label %if.end.i.i70

land.lhs.true.i.i72:                              ; preds = %while.body.i.i
  %arrayidx9.i.i = getelementptr inbounds %struct.waiting, ptr %.pre.i.i, i64 %add4.i.i
  %arrayidx11.i.i = getelementptr inbounds %struct.waiting, ptr %.pre.i.i, i64 %add62.i.i
  %118 = load i64, ptr %arrayidx9.i.i, align 8
  %119 = load i64, ptr %arrayidx11.i.i, align 8
  %cmp.not.i.i.i = icmp eq i64 %118, %119
  br i1 %cmp.not.i.i.i, label %cond.false.i.i.i74, label %cond.true.i.i.i73

cond.true.i.i.i73:                                ; preds = %land.lhs.true.i.i72
  %cmp4.i.i.i = icmp ugt i64 %118, %119
  br label %is_before.exit.i.i

cond.false.i.i.i74:                               ; preds = %land.lhs.true.i.i72
  %stamp.i.i.i = getelementptr inbounds i8, ptr %arrayidx9.i.i, i64 8
  %120 = load i64, ptr %stamp.i.i.i, align 8
  %stamp5.i.i.i = getelementptr inbounds i8, ptr %arrayidx11.i.i, i64 8
  %121 = load i64, ptr %stamp5.i.i.i, align 8
  %cmp6.i.i.i75 = icmp ult i64 %120, %121
  br label %is_before.exit.i.i

is_before.exit.i.i:                               ; preds = %cond.false.i.i.i74, %cond.true.i.i.i73
  %cond.in.i.i.i = phi i1 [ %cmp4.i.i.i, %cond.true.i.i.i73 ], [ %cmp6.i.i.i75, %cond.false.i.i.i74 ]
  %spec.select.i.i = select i1 %cond.in.i.i.i, i64 %add4.i.i, i64 %add62.i.i
  br label %if.end.i.i70

if.end.i.i70:                                     ; preds = %is_before.exit.i.i, %while.body.i.i
  %below.0.i.i = phi i64 [ %add62.i.i, %while.body.i.i ], [ %spec.select.i.i, %is_before.exit.i.i ]
  %arrayidx13.i.i = getelementptr inbounds %struct.waiting, ptr %.pre.i.i, i64 %below.0.i.i
  %122 = load i64, ptr %arrayidx13.i.i, align 8
  %cmp.not.i47.i.i = icmp eq i64 %122, %last.sroa.0.0.copyload.i.i
  br i1 %cmp.not.i47.i.i, label %is_before.exit56.i.i, label %cond.true.i48.i.i

cond.true.i48.i.i:                                ; preds = %if.end.i.i70
  %cmp4.i49.i.i = icmp ugt i64 %122, %last.sroa.0.0.copyload.i.i
  br i1 %cmp4.i49.i.i, label %if.end17.i.i, label %while.end.i.i

is_before.exit56.i.i:                             ; preds = %if.end.i.i70
  %stamp.i53.i.i = getelementptr inbounds i8, ptr %arrayidx13.i.i, i64 8
  %123 = load i64, ptr %stamp.i53.i.i, align 8
  %cmp6.i55.i.i = icmp ult i64 %123, %last.sroa.5.0.copyload.i.i
  br i1 %cmp6.i55.i.i, label %if.end17.i.i, label %while.end.i.i

if.end17.i.i:                                     ; preds = %is_before.exit56.i.i, %cond.true.i48.i.i
  %arrayidx19.i.i = getelementptr inbounds %struct.waiting, ptr %.pre.i.i, i64 %place.060.i.i
  call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(32) %arrayidx19.i.i, ptr noundef nonnull align 8 dereferenceable(32) %arrayidx13.i.i, i64 32, i1 false)
  %mul.i.i = shl nsw i64 %below.0.i.i, 1
  %add.i.i = or disjoint i64 %mul.i.i, 1
  %124 = load i64, ptr %count13, align 8
  %cmp.i.i71 = icmp slt i64 %add.i.i, %124
  br i1 %cmp.i.i71, label %while.body.i.i, label %while.end.i.i

while.end.i.i:                                    ; preds = %if.end17.i.i, %is_before.exit56.i.i, %cond.true.i48.i.i, %if.then2.i
  %place.0.lcssa.i.i = phi i64 [ 0, %if.then2.i ], [ %place.060.i.i, %cond.true.i48.i.i ], [ %place.060.i.i, %is_before.exit56.i.i ], [ %below.0.i.i, %if.end17.i.i ]
  %.lcssa.i.i = phi i64 [ %dec.i.i, %if.then2.i ], [ %117, %cond.true.i48.i.i ], [ %117, %is_before.exit56.i.i ], [ %124, %if.end17.i.i ]
  %cmp23.i.i = icmp sgt i64 %.lcssa.i.i, 0
  br i1 %cmp23.i.i, label %if.then24.i.i69, label %pop.exit.i

if.then24.i.i69:                                  ; preds = %while.end.i.i
  %125 = load ptr, ptr %ready, align 8
  %arrayidx26.i.i = getelementptr inbounds %struct.waiting, ptr %125, i64 %place.0.lcssa.i.i
  store i64 %last.sroa.0.0.copyload.i.i, ptr %arrayidx26.i.i, align 8
  %last.sroa.5.0.arrayidx26.sroa_idx.i.i = getelementptr inbounds i8, ptr %arrayidx26.i.i, i64 8
  store i64 %last.sroa.5.0.copyload.i.i, ptr %last.sroa.5.0.arrayidx26.sroa_idx.i.i, align 8
  %last.sroa.6.0.arrayidx26.sroa_idx.i.i = getelementptr inbounds i8, ptr %arrayidx26.i.i, i64 16
  call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(16) %last.sroa.6.0.arrayidx26.sroa_idx.i.i, ptr noundef nonnull align 8 dereferenceable(16) %last.sroa.6.i.i, i64 16, i1 false)
  br label %pop.exit.i

pop.exit.i:                                       ; preds = %if.then24.i.i69, %while.end.i.i
  call void @llvm.lifetime.end.p0(i64 16, ptr nonnull %last.sroa.6.i.i)
  br label %cond.end

if.else.i:                                        ; preds = %if.then.i
  %126 = load i64, ptr %116, align 8
  %127 = load i64, ptr %at_hand, align 8
  %cmp6.i = icmp ugt i64 %126, %127
  br i1 %cmp6.i, label %if.then7.i, label %cond.end

if.then7.i:                                       ; preds = %if.else.i
  call void @llvm.lifetime.start.p0(i64 16, ptr nonnull %later.sroa.7.i)
  call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(16) %later.sroa.7.i, ptr noundef nonnull align 8 dereferenceable(16) %node.i, i64 16, i1 false)
  %128 = load i64, ptr %stamps, align 8
  %inc.i63 = add i64 %128, 1
  store i64 %inc.i63, ptr %stamps, align 8
  call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(32) %at_hand, ptr noundef nonnull align 8 dereferenceable(32) %116, i64 32, i1 false)
  call void @llvm.lifetime.start.p0(i64 16, ptr nonnull %last.sroa.6.i26.i)
  %dec.i29.i = add nsw i64 %114, -1
  store i64 %dec.i29.i, ptr %count13, align 8
  %arrayidx2.i30.i = getelementptr inbounds %struct.waiting, ptr %116, i64 %dec.i29.i
  %last.sroa.0.0.copyload.i31.i = load i64, ptr %arrayidx2.i30.i, align 8
  %last.sroa.5.0.arrayidx2.sroa_idx.i32.i = getelementptr inbounds i8, ptr %arrayidx2.i30.i, i64 8
  %last.sroa.5.0.copyload.i33.i = load i64, ptr %last.sroa.5.0.arrayidx2.sroa_idx.i32.i, align 8
  %last.sroa.6.0.arrayidx2.sroa_idx.i34.i = getelementptr inbounds i8, ptr %arrayidx2.i30.i, i64 16
  call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(16) %last.sroa.6.i26.i, ptr noundef nonnull align 8 dereferenceable(16) %last.sroa.6.0.arrayidx2.sroa_idx.i34.i, i64 16, i1 false)
  %cmp59.i35.i = icmp ugt i64 %114, 2
  br i1 %cmp59.i35.i, label %while.body.i44.i, label %while.end.i36.i

while.body.i44.i:                                 ; preds = %if.then7.i, %if.end17.i57.i
  %129 = phi i64 [ %136, %if.end17.i57.i ], [ %dec.i29.i, %if.then7.i ]
  %add62.i45.i = phi i64 [ %add.i60.i, %if.end17.i57.i ], [ 1, %if.then7.i ]
  %mul61.i46.i = phi i64 [ %mul.i59.i, %if.end17.i57.i ], [ 0, %if.then7.i ]
  %place.060.i47.i = phi i64 [ %below.0.i52.i, %if.end17.i57.i ], [ 0, %if.then7.i ]
  %add4.i48.i = add nsw i64 %mul61.i46.i, 2
  %cmp6.i49.i = icmp slt i64 %add4.i48.i, %129
  %.pre.i50.i = load ptr, ptr %ready, align 8
  br i1 %cmp6.i49.i, label %land.lhs.true.i65.i, label %if.end.i51.i

land.lhs.true.i65.i:                              ; preds = %while.body.i44.i
  %arrayidx9.i66.i = getelementptr inbounds %struct.waiting, ptr %.pre.i50.i, i64 %add4.i48.i
  %arrayidx11.i67.i = getelementptr inbounds %struct.waiting, ptr %.pre.i50.i, i64 %add62.i45.i
  %130 = load i64, ptr %arrayidx9.i66.i, align 8
  %131 = load i64, ptr %arrayidx11.i67.i, align 8
  %cmp.not.i.i68.i = icmp eq i64 %130, %131
  br i1 %cmp.not.i.i68.i, label %cond.false.i.i74.i, label %cond.true.i.i69.i

cond.true.i.i69.i:                                ; preds = %land.lhs.true.i65.i
  %cmp4.i.i70.i = icmp ugt i64 %130, %131
  br label %is_before.exit.i71.i

cond.false.i.i74.i:                               ; preds = %land.lhs.true.i65.i
  %stamp.i.i75.i = getelementptr inbounds i8, ptr %arrayidx9.i66.i, i64 8
  %132 = load i64, ptr %stamp.i.i75.i, align 8
  %stamp5.i.i76.i = getelementptr inbounds i8, ptr %arrayidx11.i67.i, i64 8
  %133 = load i64, ptr %stamp5.i.i76.i, align 8
  %cmp6.i.i77.i = icmp ult i64 %132, %133
  br label %is_before.exit.i71.i

is_before.exit.i71.i:                             ; preds = %cond.false.i.i74.i, %cond.true.i.i69.i
  %cond.in.i.i72.i = phi i1 [ %cmp4.i.i70.i, %cond.true.i.i69.i ], [ %cmp6.i.i77.i, %cond.false.i.i74.i ]
  %spec.select.i73.i = select i1 %cond.in.i.i72.i, i64 %add4.i48.i, i64 %add62.i45.i
  br label %if.end.i51.i

if.end.i51.i:                                     ; preds = %is_before.exit.i71.i, %while.body.i44.i
  %below.0.i52.i = phi i64 [ %add62.i45.i, %while.body.i44.i ], [ %spec.select.i73.i, %is_before.exit.i71.i ]
  %arrayidx13.i53.i = getelementptr inbounds %struct.waiting, ptr %.pre.i50.i, i64 %below.0.i52.i
  %134 = load i64, ptr %arrayidx13.i53.i, align 8
  %cmp.not.i47.i54.i = icmp eq i64 %134, %last.sroa.0.0.copyload.i31.i
  br i1 %cmp.not.i47.i54.i, label %is_before.exit56.i62.i, label %cond.true.i48.i55.i

cond.true.i48.i55.i:                              ; preds = %if.end.i51.i
  %cmp4.i49.i56.i = icmp ugt i64 %134, %last.sroa.0.0.copyload.i31.i
  br i1 %cmp4.i49.i56.i, label %if.end17.i57.i, label %while.end.i36.i

is_before.exit56.i62.i:                           ; preds = %if.end.i51.i
  %stamp.i53.i63.i = getelementptr inbounds i8, ptr %arrayidx13.i53.i, i64 8
  %135 = load i64, ptr %stamp.i53.i63.i, align 8
  %cmp6.i55.i64.i = icmp ult i64 %135, %last.sroa.5.0.copyload.i33.i
  br i1 %cmp6.i55.i64.i, label %if.end17.i57.i, label %while.end.i36.i

if.end17.i57.i:                                   ; preds = %is_before.exit56.i62.i, %cond.true.i48.i55.i
  %arrayidx19.i58.i = getelementptr inbounds %struct.waiting, ptr %.pre.i50.i, i64 %place.060.i47.i
  call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(32) %arrayidx19.i58.i, ptr noundef nonnull align 8 dereferenceable(32) %arrayidx13.i53.i, i64 32, i1 false)
  %mul.i59.i = shl nsw i64 %below.0.i52.i, 1
  %add.i60.i = or disjoint i64 %mul.i59.i, 1
  %136 = load i64, ptr %count13, align 8
  %cmp.i61.i = icmp slt i64 %add.i60.i, %136
  br i1 %cmp.i61.i, label %while.body.i44.i, label %while.end.i36.i

while.end.i36.i:                                  ; preds = %if.end17.i57.i, %is_before.exit56.i62.i, %cond.true.i48.i55.i, %if.then7.i
  %place.0.lcssa.i37.i = phi i64 [ 0, %if.then7.i ], [ %place.060.i47.i, %cond.true.i48.i55.i ], [ %place.060.i47.i, %is_before.exit56.i62.i ], [ %below.0.i52.i, %if.end17.i57.i ]
  %.lcssa.i38.i = phi i64 [ %dec.i29.i, %if.then7.i ], [ %129, %cond.true.i48.i55.i ], [ %129, %is_before.exit56.i62.i ], [ %136, %if.end17.i57.i ]
  %cmp23.i39.i = icmp sgt i64 %.lcssa.i38.i, 0
  br i1 %cmp23.i39.i, label %if.then24.i40.i, label %pop.exit78.i

if.then24.i40.i:                                  ; preds = %while.end.i36.i
  %137 = load ptr, ptr %ready, align 8
  %arrayidx26.i41.i = getelementptr inbounds %struct.waiting, ptr %137, i64 %place.0.lcssa.i37.i
  store i64 %last.sroa.0.0.copyload.i31.i, ptr %arrayidx26.i41.i, align 8
  %last.sroa.5.0.arrayidx26.sroa_idx.i42.i = getelementptr inbounds i8, ptr %arrayidx26.i41.i, i64 8
  store i64 %last.sroa.5.0.copyload.i33.i, ptr %last.sroa.5.0.arrayidx26.sroa_idx.i42.i, align 8
  %last.sroa.6.0.arrayidx26.sroa_idx.i43.i = getelementptr inbounds i8, ptr %arrayidx26.i41.i, i64 16
  call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(16) %last.sroa.6.0.arrayidx26.sroa_idx.i43.i, ptr noundef nonnull align 8 dereferenceable(16) %last.sroa.6.i26.i, i64 16, i1 false)
  %.pre.i = load i64, ptr %count13, align 8
  br label %pop.exit78.i

pop.exit78.i:                                     ; preds = %if.then24.i40.i, %while.end.i36.i
  %138 = phi i64 [ %.lcssa.i38.i, %while.end.i36.i ], [ %.pre.i, %if.then24.i40.i ]
  call void @llvm.lifetime.end.p0(i64 16, ptr nonnull %last.sroa.6.i26.i)
  %139 = load i64, ptr %room, align 8
  %cmp.i80.i = icmp eq i64 %138, %139
  br i1 %cmp.i80.i, label %if.then.i.i66, label %if.end11.i.i

if.then.i.i66:                                    ; preds = %pop.exit78.i
  %tobool.not.i.i = icmp eq i64 %138, 0
  %mul.i90.i = shl nsw i64 %138, 1
  %spec.select.i91.i = select i1 %tobool.not.i.i, i64 16, i64 %mul.i90.i
  %140 = load ptr, ptr %ready, align 8
  %mul4.i.i = shl i64 %spec.select.i91.i, 5
  %call.i.i67 = call ptr @realloc(ptr noundef %140, i64 noundef %mul4.i.i) #12
  %cmp5.i.i = icmp eq ptr %call.i.i67, null
  br i1 %cmp5.i.i, label %cleanup.i.i, label %cleanup.thread.i.i

cleanup.thread.i.i:                               ; preds = %if.then.i.i66
  store ptr %call.i.i67, ptr %ready, align 8
  store i64 %spec.select.i91.i, ptr %room, align 8
  %.pre.i93.i = load i64, ptr %count13, align 8
  br label %if.end11.i.i

cleanup.i.i:                                      ; preds = %if.then.i.i66
  %call7.i.i68 = call ptr @PyErr_NoMemory() #11
  br label %push.exit.i

if.end11.i.i:                                     ; preds = %cleanup.thread.i.i, %pop.exit78.i
  %141 = phi i64 [ %.pre.i93.i, %cleanup.thread.i.i ], [ %138, %pop.exit78.i ]
  %inc.i.i = add nsw i64 %141, 1
  store i64 %inc.i.i, ptr %count13, align 8
  %cmp1349.i.i = icmp sgt i64 %141, 0
  br i1 %cmp1349.i.i, label %land.rhs.i.i64, label %for.end.i.i

land.rhs.i.i64:                                   ; preds = %if.end11.i.i, %for.body.i.i
  %place.050.i.i = phi i64 [ %div47.i.i, %for.body.i.i ], [ %141, %if.end11.i.i ]
  %142 = load ptr, ptr %ready, align 8
  %sub.i.i65 = add nsw i64 %place.050.i.i, -1
  %div47.i.i = lshr i64 %sub.i.i65, 1
  %arrayidx.i.i = getelementptr inbounds %struct.waiting, ptr %142, i64 %div47.i.i
  %143 = load i64, ptr %arrayidx.i.i, align 8
  %cmp.not.i.i84.i = icmp eq i64 %127, %143
  br i1 %cmp.not.i.i84.i, label %is_before.exit.i87.i, label %cond.true.i.i85.i

cond.true.i.i85.i:                                ; preds = %land.rhs.i.i64
  %cmp4.i.i86.i = icmp ugt i64 %127, %143
  br i1 %cmp4.i.i86.i, label %for.body.i.i, label %for.end.i.i

is_before.exit.i87.i:                             ; preds = %land.rhs.i.i64
  %stamp5.i.i88.i = getelementptr inbounds i8, ptr %arrayidx.i.i, i64 8
  %144 = load i64, ptr %stamp5.i.i88.i, align 8
  %cmp6.i.i89.i = icmp ult i64 %128, %144
  br i1 %cmp6.i.i89.i, label %for.body.i.i, label %for.end.i.i

for.body.i.i:                                     ; preds = %is_before.exit.i87.i, %cond.true.i.i85.i
  %arrayidx18.i.i = getelementptr inbounds %struct.waiting, ptr %142, i64 %place.050.i.i
  call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(32) %arrayidx18.i.i, ptr noundef nonnull align 8 dereferenceable(32) %arrayidx.i.i, i64 32, i1 false)
  %cmp13.not.i.i = icmp ult i64 %sub.i.i65, 2
  br i1 %cmp13.not.i.i, label %for.end.i.i, label %land.rhs.i.i64

for.end.i.i:                                      ; preds = %for.body.i.i, %is_before.exit.i87.i, %cond.true.i.i85.i, %if.end11.i.i
  %place.0.lcssa.i81.i = phi i64 [ %141, %if.end11.i.i ], [ %place.050.i.i, %cond.true.i.i85.i ], [ %div47.i.i, %for.body.i.i ], [ %place.050.i.i, %is_before.exit.i87.i ]
  %145 = load ptr, ptr %ready, align 8
  %arrayidx26.i82.i = getelementptr inbounds %struct.waiting, ptr %145, i64 %place.0.lcssa.i81.i
  store i64 %127, ptr %arrayidx26.i82.i, align 8
  %later.sroa.5.0.arrayidx26.i82.sroa_idx.i = getelementptr inbounds i8, ptr %arrayidx26.i82.i, i64 8
  store i64 %128, ptr %later.sroa.5.0.arrayidx26.i82.sroa_idx.i, align 8
  %later.sroa.7.0.arrayidx26.i82.sroa_idx.i = getelementptr inbounds i8, ptr %arrayidx26.i82.i, i64 16
  call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(16) %later.sroa.7.0.arrayidx26.i82.sroa_idx.i, ptr noundef nonnull align 8 dereferenceable(16) %later.sroa.7.i, i64 16, i1 false)
  br label %push.exit.i

push.exit.i:                                      ; preds = %for.end.i.i, %cleanup.i.i
  call void @llvm.lifetime.end.p0(i64 16, ptr nonnull %later.sroa.7.i)
  br label %cond.end

cond.end:                                         ; preds = %push.exit.i, %if.else.i, %pop.exit.i, %cond.false
  %146 = load ptr, ptr %node.i, align 8
  %cmp14.i62.not = icmp eq ptr %146, null
  br i1 %cmp14.i62.not, label %while.end.loopexit, label %land.lhs.true

land.lhs.true:                                    ; preds = %cond.end
  %147 = load ptr, ptr %pass, align 8
  %148 = load ptr, ptr %gradient4.i, align 8
  %next_of_node.i = getelementptr inbounds i8, ptr %147, i64 192
  %149 = load i64, ptr %next_of_node.i, align 8
  %add.ptr.i = getelementptr inbounds i8, ptr %146, i64 %149
  %150 = load ptr, ptr %add.ptr.i, align 8
  call void @Py_IncRef(ptr noundef %150) #11
  %151 = load ptr, ptr %successors, align 8
  store ptr %150, ptr %successors, align 8
  call void @Py_DecRef(ptr noundef %151) #11
  %152 = load ptr, ptr %node.i, align 8
  %153 = load ptr, ptr %pass, align 8
  %rare_of_node.i.i = getelementptr inbounds i8, ptr %153, i64 200
  %154 = load i64, ptr %rare_of_node.i.i, align 8
  %add.ptr.i.i = getelementptr inbounds i8, ptr %152, i64 %154
  %155 = load ptr, ptr %add.ptr.i.i, align 8
  %none.i.i77 = getelementptr inbounds i8, ptr %153, i64 8
  %156 = load ptr, ptr %none.i.i77, align 8
  %cmp.not.i.i = icmp eq ptr %155, %156
  br i1 %cmp.not.i.i, label %lor.lhs.false.i.i82, label %if.else.i78

lor.lhs.false.i.i82:                              ; preds = %land.lhs.true
  %157 = load ptr, ptr %gradient4.i, align 8
  %ob_type.i.i.i.i = getelementptr inbounds i8, ptr %157, i64 8
  %158 = load ptr, ptr %ob_type.i.i.i.i, align 8
  %159 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx.i.i.i = getelementptr inbounds i8, ptr %159, i64 16
  %160 = load ptr, ptr %arrayidx.i.i.i, align 8
  %cmp.i.not.i.i = icmp eq ptr %158, %160
  br i1 %cmp.i.not.i.i, label %if.end.i.i83, label %if.else.i78

if.end.i.i83:                                     ; preds = %lor.lhs.false.i.i82
  %is_fast5.i.i = getelementptr inbounds i8, ptr %153, i64 56
  %161 = load ptr, ptr %is_fast5.i.i, align 8
  %call6.i.i = call ptr @PyObject_GetAttr(ptr noundef nonnull %152, ptr noundef %161) #11
  %cmp7.i.i = icmp eq ptr %call6.i.i, null
  br i1 %cmp7.i.i, label %while.end.loopexit, label %if.end9.i.i

if.end9.i.i:                                      ; preds = %if.end.i.i83
  call void @Py_DecRef(ptr noundef nonnull %call6.i.i) #11
  %162 = load ptr, ptr %pass, align 8
  %true_.i.i = getelementptr inbounds i8, ptr %162, i64 16
  %163 = load ptr, ptr %true_.i.i, align 8
  %cmp11.i.i = icmp eq ptr %call6.i.i, %163
  br i1 %cmp11.i.i, label %cond.true.i.i, label %if.else.i78

cond.true.i.i:                                    ; preds = %if.end9.i.i
  %164 = load ptr, ptr %visit, align 8
  %none.i.i.i84 = getelementptr inbounds i8, ptr %162, i64 8
  %165 = load ptr, ptr %none.i.i.i84, align 8
  %cmp.i24.i.i = icmp eq ptr %164, %165
  br i1 %cmp.i24.i.i, label %if.then6.i88, label %if.end.i.i.i85

if.end.i.i.i85:                                   ; preds = %cond.true.i.i
  %166 = load ptr, ptr %targets, align 8
  %call.i.i.i86 = call i32 @PyDict_Contains(ptr noundef %166, ptr noundef nonnull %152) #11
  %cmp1.not.i.i.i = icmp eq i32 %call.i.i.i86, 0
  br i1 %cmp1.not.i.i.i, label %if.end4.i.i.i, label %if.then2.i.i.i

if.then2.i.i.i:                                   ; preds = %if.end.i.i.i85
  %call.lobit.i.i.i = ashr i32 %call.i.i.i86, 31
  br label %is_plain.exit.i

if.end4.i.i.i:                                    ; preds = %if.end.i.i.i85
  %167 = load ptr, ptr %successors, align 8
  %call5.i.i.i = call i64 @PyTuple_Size(ptr noundef %167) #11
  %cmp6.not41.i.i.i = icmp sgt i64 %call5.i.i.i, 0
  br i1 %cmp6.not41.i.i.i, label %for.body.i.i.i, label %if.then6.i88

for.body.i.i.i:                                   ; preds = %if.end4.i.i.i, %for.inc.i.i.i
  %k.042.i.i.i = phi i64 [ %inc.i.i.i, %for.inc.i.i.i ], [ 0, %if.end4.i.i.i ]
  %168 = load ptr, ptr %successors, align 8
  %call8.i.i.i = call ptr @PyTuple_GetItem(ptr noundef %168, i64 noundef %k.042.i.i.i) #11
  %169 = load ptr, ptr %pass, align 8
  %none10.i.i.i = getelementptr inbounds i8, ptr %169, i64 8
  %170 = load ptr, ptr %none10.i.i.i, align 8
  %cmp11.i.i.i = icmp eq ptr %call8.i.i.i, %170
  br i1 %cmp11.i.i.i, label %for.inc.i.i.i, label %cond.end.i.i.i97

cond.end.i.i.i97:                                 ; preds = %for.body.i.i.i
  %171 = load ptr, ptr %visit, align 8
  %call13.i.i.i = call i32 @PySet_Contains(ptr noundef %171, ptr noundef %call8.i.i.i) #11
  %cmp15.i.i.i = icmp sgt i32 %call13.i.i.i, 0
  br i1 %cmp15.i.i.i, label %for.inc.i.i.i, label %is_plain.exit.i

for.inc.i.i.i:                                    ; preds = %cond.end.i.i.i97, %for.body.i.i.i
  %inc.i.i.i = add nuw nsw i64 %k.042.i.i.i, 1
  %exitcond.not.i.i.i = icmp eq i64 %inc.i.i.i, %call5.i.i.i
  br i1 %exitcond.not.i.i.i, label %if.then6.i88, label %for.body.i.i.i

is_plain.exit.i:                                  ; preds = %cond.end.i.i.i97, %if.then2.i.i.i
  %retval.1.i.i = phi i32 [ %call.lobit.i.i.i, %if.then2.i.i.i ], [ %call13.i.i.i, %cond.end.i.i.i97 ]
  %cmp.i87 = icmp slt i32 %retval.1.i.i, 0
  br i1 %cmp.i87, label %while.end.loopexit, label %if.else.i78

if.then6.i88:                                     ; preds = %for.inc.i.i.i, %if.end4.i.i.i, %cond.true.i.i
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %type.i.i) #11
  %ob_type.i.i.i = getelementptr inbounds i8, ptr %146, i64 8
  %172 = load ptr, ptr %ob_type.i.i.i, align 8
  store ptr %172, ptr %type.i.i, align 8
  %formulas.i.i = getelementptr inbounds i8, ptr %147, i64 136
  %173 = load ptr, ptr %formulas.i.i, align 8
  %call1.i.i = call ptr @PyDict_GetItemWithError(ptr noundef %173, ptr noundef %172) #11
  %cmp.not.i132.i = icmp eq ptr %call1.i.i, null
  br i1 %cmp.not.i132.i, label %lor.lhs.false.i133.i, label %formula_of.exit.thread148.i

formula_of.exit.thread148.i:                      ; preds = %if.then6.i88
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %type.i.i) #11
  br label %lor.lhs.false.i

lor.lhs.false.i133.i:                             ; preds = %if.then6.i88
  %call2.i.i = call ptr @PyErr_Occurred() #11
  %tobool.not.i.i95 = icmp eq ptr %call2.i.i, null
  br i1 %tobool.not.i.i95, label %formula_of.exit.i, label %formula_of.exit.thread.i

formula_of.exit.thread.i:                         ; preds = %lor.lhs.false.i133.i
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %type.i.i) #11
  br label %while.end.loopexit

formula_of.exit.i:                                ; preds = %lor.lhs.false.i133.i
  %learn.i.i = getelementptr inbounds i8, ptr %147, i64 144
  %174 = load ptr, ptr %learn.i.i, align 8
  %call3.i.i96 = call ptr @PyObject_Vectorcall(ptr noundef %174, ptr noundef nonnull %type.i.i, i64 noundef 1, ptr noundef null) #11
  call void @Py_DecRef(ptr noundef %call3.i.i96) #11
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %type.i.i) #11
  %cmp8.i = icmp eq ptr %call3.i.i96, null
  br i1 %cmp8.i, label %while.end.loopexit, label %lor.lhs.false.i

lor.lhs.false.i:                                  ; preds = %formula_of.exit.i, %formula_of.exit.thread148.i
  %retval.0.i151.i = phi ptr [ %call1.i.i, %formula_of.exit.thread148.i ], [ %call3.i.i96, %formula_of.exit.i ]
  %call9.i89 = call i32 @PyErr_CheckSignals() #11
  %cmp10.i = icmp slt i32 %call9.i89, 0
  br i1 %cmp10.i, label %while.end.loopexit, label %if.end12.i

if.end12.i:                                       ; preds = %lor.lhs.false.i
  %none.i = getelementptr inbounds i8, ptr %147, i64 8
  %175 = load ptr, ptr %none.i, align 8
  %cmp13.not.i = icmp eq ptr %retval.0.i151.i, %175
  br i1 %cmp13.not.i, label %if.end12.i.if.end17.i_crit_edge, label %if.then14.i

if.end12.i.if.end17.i_crit_edge:                  ; preds = %if.end12.i
  %.pre = load ptr, ptr %arrived, align 8
  br label %if.end17.i

if.then14.i:                                      ; preds = %if.end12.i
  %176 = load ptr, ptr %keep, align 8
  %true_.i90 = getelementptr inbounds i8, ptr %147, i64 16
  %177 = load ptr, ptr %true_.i90, align 8
  %cmp15.i91 = icmp eq ptr %176, %177
  %conv.i92 = zext i1 %cmp15.i91 to i32
  %call16.i = call fastcc ptr @pull_natively(ptr noundef nonnull %147, ptr noundef nonnull %146, ptr noundef nonnull %retval.0.i151.i, ptr noundef %148, i32 noundef %conv.i92)
  store ptr %call16.i, ptr %arrived, align 8
  %.pre.i93 = load ptr, ptr %none.i, align 8
  br label %if.end17.i

if.end17.i:                                       ; preds = %if.end12.i.if.end17.i_crit_edge, %if.then14.i
  %178 = phi ptr [ %call16.i, %if.then14.i ], [ %.pre, %if.end12.i.if.end17.i_crit_edge ]
  %179 = phi ptr [ %.pre.i93, %if.then14.i ], [ %175, %if.end12.i.if.end17.i_crit_edge ]
  %cmp19.i = icmp eq ptr %retval.0.i151.i, %179
  %cmp24.i = icmp eq ptr %178, %179
  %or.cond = select i1 %cmp19.i, i1 true, i1 %cmp24.i
  br i1 %or.cond, label %if.then26.i, label %if.end33.i

if.then26.i:                                      ; preds = %if.end17.i
  call void @llvm.lifetime.start.p0(i64 40, ptr nonnull %given.i76) #11
  store ptr %146, ptr %given.i76, align 8
  store ptr %148, ptr %arrayinit.element.i94, align 8
  %180 = load ptr, ptr %keep, align 8
  store ptr %180, ptr %arrayinit.element27.i, align 8
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(16) %scevgep.i, i8 0, i64 16, i1 false)
  %pull.i = getelementptr inbounds i8, ptr %147, i64 64
  %181 = load ptr, ptr %pull.i, align 8
  %call32.i = call ptr @PyObject_VectorcallMethod(ptr noundef %181, ptr noundef nonnull %given.i76, i64 noundef 3, ptr noundef null) #11
  %182 = load ptr, ptr %arrived, align 8
  store ptr %call32.i, ptr %arrived, align 8
  call void @Py_DecRef(ptr noundef %182) #11
  call void @llvm.lifetime.end.p0(i64 40, ptr nonnull %given.i76) #11
  %.pre152.i = load ptr, ptr %none.i, align 8
  br label %if.end33.i

if.end33.i:                                       ; preds = %if.end17.i, %if.then26.i
  %183 = phi ptr [ %.pre152.i, %if.then26.i ], [ %179, %if.end17.i ]
  call void @Py_IncRef(ptr noundef %183) #11
  %184 = load ptr, ptr %numbers, align 8
  store ptr %183, ptr %numbers, align 8
  call void @Py_DecRef(ptr noundef %184) #11
  br label %visit.exit

if.else.i78:                                      ; preds = %is_plain.exit.i, %if.end9.i.i, %lor.lhs.false.i.i82, %land.lhs.true
  %call36.i = call ptr @PyList_New(i64 noundef 1) #11
  %cmp37.i = icmp eq ptr %call36.i, null
  br i1 %cmp37.i, label %while.end.loopexit, label %if.end40.i

if.end40.i:                                       ; preds = %if.else.i78
  %call41.i = call i32 @PyList_SetItem(ptr noundef nonnull %call36.i, i64 noundef 0, ptr noundef %148) #11
  store ptr null, ptr %gradient4.i, align 8
  call void @llvm.lifetime.start.p0(i64 40, ptr nonnull %given44.i) #11
  %185 = load ptr, ptr %task, align 8
  store ptr %185, ptr %given44.i, align 8
  %186 = load ptr, ptr %entries, align 8
  store ptr %186, ptr %arrayinit.element46.i, align 8
  store ptr %146, ptr %arrayinit.element47.i, align 8
  store ptr %call36.i, ptr %arrayinit.element48.i, align 8
  %187 = load ptr, ptr %general, align 8
  store ptr %187, ptr %arrayinit.element49.i, align 8
  %visit_one.i = getelementptr inbounds i8, ptr %147, i64 120
  %188 = load ptr, ptr %visit_one.i, align 8
  %call52.i = call ptr @PyObject_Vectorcall(ptr noundef %188, ptr noundef nonnull %given44.i, i64 noundef 5, ptr noundef null) #11
  call void @Py_DecRef(ptr noundef nonnull %call36.i) #11
  %cmp53.not.i = icmp eq ptr %call52.i, null
  br i1 %cmp53.not.i, label %cleanup79.critedge.i, label %if.end56.i

if.end56.i:                                       ; preds = %if.end40.i
  %call57.i = call ptr @PyTuple_GetItem(ptr noundef nonnull %call52.i, i64 noundef 0) #11
  call void @Py_IncRef(ptr noundef %call57.i) #11
  store ptr %call57.i, ptr %arrived, align 8
  %call61.i = call ptr @PyTuple_GetItem(ptr noundef nonnull %call52.i, i64 noundef 1) #11
  call void @Py_IncRef(ptr noundef %call61.i) #11
  %189 = load ptr, ptr %successors, align 8
  store ptr %call61.i, ptr %successors, align 8
  call void @Py_DecRef(ptr noundef %189) #11
  %call64.i = call ptr @PyTuple_GetItem(ptr noundef nonnull %call52.i, i64 noundef 2) #11
  call void @Py_IncRef(ptr noundef %call64.i) #11
  %190 = load ptr, ptr %numbers, align 8
  store ptr %call64.i, ptr %numbers, align 8
  call void @Py_DecRef(ptr noundef %190) #11
  call void @Py_DecRef(ptr noundef nonnull %call52.i) #11
  call void @llvm.lifetime.end.p0(i64 40, ptr nonnull %given44.i) #11
  br label %visit.exit

cleanup79.critedge.i:                             ; preds = %if.end40.i
  call void @llvm.lifetime.end.p0(i64 40, ptr nonnull %given44.i) #11
  br label %while.end.loopexit

visit.exit:                                       ; preds = %if.end33.i, %if.end56.i
  %191 = load ptr, ptr %gradient4.i, align 8
  store ptr null, ptr %gradient4.i, align 8
  call void @Py_DecRef(ptr noundef %191) #11
  %192 = load ptr, ptr %node.i, align 8
  store ptr null, ptr %node.i, align 8
  call void @Py_DecRef(ptr noundef %192) #11
  %193 = load ptr, ptr %arrived, align 8
  %.fr = freeze ptr %193
  %cmp77.i = icmp eq ptr %.fr, null
  br i1 %cmp77.i, label %while.end.loopexit, label %while.body

while.end.loopexit:                               ; preds = %visit.exit, %is_plain.exit.i, %formula_of.exit.i, %lor.lhs.false.i, %if.else.i78, %if.end.i.i83, %cond.end, %visit_leaves.exit, %hand_on.exit.i, %if.then24.i.i, %cleanup79.critedge.i, %formula_of.exit.thread.i, %visit_leaves.exit.thread
  %.ph = phi i1 [ true, %visit_leaves.exit.thread ], [ true, %formula_of.exit.thread.i ], [ true, %cleanup79.critedge.i ], [ true, %if.then24.i.i ], [ true, %hand_on.exit.i ], [ true, %visit.exit ], [ true, %is_plain.exit.i ], [ true, %formula_of.exit.i ], [ true, %lor.lhs.false.i ], [ true, %if.else.i78 ], [ true, %if.end.i.i83 ], [ false, %cond.end ], [ true, %visit_leaves.exit ]
  %.pre117 = load ptr, ptr %arrived, align 8
  br label %while.end

while.end:                                        ; preds = %while.end.loopexit, %entry
  %194 = phi ptr [ %7, %entry ], [ %.pre117, %while.end.loopexit ]
  %more.0.lcssa = phi i1 [ true, %entry ], [ %.ph, %while.end.loopexit ]
  call void @Py_DecRef(ptr noundef %194) #11
  %195 = load ptr, ptr %successors, align 8
  call void @Py_DecRef(ptr noundef %195) #11
  %196 = load ptr, ptr %numbers, align 8
  call void @Py_DecRef(ptr noundef %196) #11
  %197 = load ptr, ptr %leaves, align 8
  call void @Py_DecRef(ptr noundef %197) #11
  %node = getelementptr inbounds i8, ptr %pass, i64 112
  %198 = load ptr, ptr %node, align 8
  call void @Py_DecRef(ptr noundef %198) #11
  %gradient = getelementptr inbounds i8, ptr %pass, i64 120
  %199 = load ptr, ptr %gradient, align 8
  call void @Py_DecRef(ptr noundef %199) #11
  %200 = load i64, ptr %count13, align 8
  %cmp32113 = icmp sgt i64 %200, 0
  br i1 %cmp32113, label %for.body, label %for.cond.cleanup

for.cond.cleanup:                                 ; preds = %for.body, %while.end
  %201 = load ptr, ptr %ready, align 8
  call void @free(ptr noundef %201) #11
  br i1 %more.0.lcssa, label %cond.end45, label %cond.false42

for.body:                                         ; preds = %while.end, %for.body
  %k.0114 = phi i64 [ %inc, %for.body ], [ 0, %while.end ]
  %202 = load ptr, ptr %ready, align 8
  %node35 = getelementptr inbounds %struct.waiting, ptr %202, i64 %k.0114, i32 2
  %203 = load ptr, ptr %node35, align 8
  call void @Py_DecRef(ptr noundef %203) #11
  %204 = load ptr, ptr %ready, align 8
  %gradient38 = getelementptr inbounds %struct.waiting, ptr %204, i64 %k.0114, i32 3
  %205 = load ptr, ptr %gradient38, align 8
  call void @Py_DecRef(ptr noundef %205) #11
  %inc = add nuw nsw i64 %k.0114, 1
  %206 = load i64, ptr %count13, align 8
  %cmp32 = icmp slt i64 %inc, %206
  br i1 %cmp32, label %for.body, label %for.cond.cleanup

cond.false42:                                     ; preds = %for.cond.cleanup
  %207 = load ptr, ptr %pass, align 8
  %none = getelementptr inbounds i8, ptr %207, i64 8
  %208 = load ptr, ptr %none, align 8
  call void @Py_IncRef(ptr noundef %208) #11
  br label %cond.end45

cond.end45:                                       ; preds = %for.cond.cleanup, %cond.false42
  %cond46 = phi ptr [ %208, %cond.false42 ], [ null, %for.cond.cleanup ]
  call void @llvm.lifetime.end.p0(i64 152, ptr nonnull %pass) #11
  ret ptr %cond46
}

declare void @llvm.memset.p0.i64(ptr nocapture writeonly, i8, i64, i1 immarg) #3

declare void @free(ptr allocptr nocapture noundef) local_unnamed_addr #4

declare ptr @PyDict_GetItemWithError(ptr noundef, ptr noundef) local_unnamed_addr #2

declare ptr @PyErr_Occurred() local_unnamed_addr #2

declare i32 @PyDict_SetItem(ptr noundef, ptr noundef, ptr noundef) local_unnamed_addr #2

declare i64 @PyLong_AsLong(ptr noundef) local_unnamed_addr #2

declare i32 @PyList_SetItem(ptr noundef, i64 noundef, ptr noundef) local_unnamed_addr #2

declare ptr @PyObject_GetAttr(ptr noundef, ptr noundef) local_unnamed_addr #2

declare void @Py_IncRef(ptr noundef) local_unnamed_addr #2

declare i64 @PyType_GetFlags(ptr noundef) local_unnamed_addr #2

declare ptr @PyObject_Vectorcall(ptr noundef, ptr noundef, i64 noundef, ptr noundef) local_unnamed_addr #2

define internal fastcc i32 @make_ready(ptr nocapture noundef %pass, ptr noundef %node, ptr noundef %gradient) unnamed_addr #0 {
entry:
  %0 = load ptr, ptr %pass, align 8
  %ob_type.i = getelementptr inbounds i8, ptr %node, i64 8
  %1 = load ptr, ptr %ob_type.i, align 8
  %2 = load ptr, ptr %0, align 8
  %cmp = icmp eq ptr %1, %2
  br i1 %cmp, label %if.then, label %if.end9

if.then:                                          ; preds = %entry
  %call2 = tail call ptr @PyTuple_New(i64 noundef 2) #11
  %cmp3 = icmp eq ptr %call2, null
  br i1 %cmp3, label %if.then4, label %if.end

if.then4:                                         ; preds = %if.then
  tail call void @Py_DecRef(ptr noundef %gradient) #11
  br label %cleanup30

if.end:                                           ; preds = %if.then
  tail call void @Py_IncRef(ptr noundef nonnull %node) #11
  %call6 = tail call i32 @PyTuple_SetItem(ptr noundef nonnull %call2, i64 noundef 0, ptr noundef nonnull %node) #11
  %call7 = tail call i32 @PyTuple_SetItem(ptr noundef nonnull %call2, i64 noundef 1, ptr noundef %gradient) #11
  %leaves = getelementptr inbounds i8, ptr %pass, i64 80
  %3 = load ptr, ptr %leaves, align 8
  %call8 = tail call i32 @PyList_Append(ptr noundef %3, ptr noundef nonnull %call2) #11
  tail call void @Py_DecRef(ptr noundef nonnull %call2) #11
  br label %cleanup30

if.end9:                                          ; preds = %entry
  %seq_of_node = getelementptr inbounds i8, ptr %0, i64 208
  %4 = load i64, ptr %seq_of_node, align 8
  %add.ptr = getelementptr inbounds i8, ptr %node, i64 %4
  %5 = load ptr, ptr %add.ptr, align 8
  %call10 = tail call i64 @PyLong_AsUnsignedLongLong(ptr noundef %5) #11
  %cmp11 = icmp eq i64 %call10, -1
  br i1 %cmp11, label %land.lhs.true, label %if.end14

land.lhs.true:                                    ; preds = %if.end9
  %call12 = tail call ptr @PyErr_Occurred() #11
  %tobool.not = icmp eq ptr %call12, null
  br i1 %tobool.not, label %if.end14, label %if.then13

if.then13:                                        ; preds = %land.lhs.true
  tail call void @Py_DecRef(ptr noundef %gradient) #11
  br label %cleanup30

if.end14:                                         ; preds = %land.lhs.true, %if.end9
  %stamps = getelementptr inbounds i8, ptr %pass, i64 144
  %6 = load i64, ptr %stamps, align 8
  %inc = add i64 %6, 1
  store i64 %inc, ptr %stamps, align 8
  tail call void @Py_IncRef(ptr noundef nonnull %node) #11
  %node19 = getelementptr inbounds i8, ptr %pass, i64 112
  %7 = load ptr, ptr %node19, align 8
  %cmp20 = icmp eq ptr %7, null
  br i1 %cmp20, label %if.then21, label %if.end23

if.then21:                                        ; preds = %if.end14
  %at_hand = getelementptr inbounds i8, ptr %pass, i64 96
  store i64 %call10, ptr %at_hand, align 8
  %new.sroa.6.0.at_hand.sroa_idx = getelementptr inbounds i8, ptr %pass, i64 104
  store i64 %6, ptr %new.sroa.6.0.at_hand.sroa_idx, align 8
  store ptr %node, ptr %node19, align 8
  %new.sroa.9.0.at_hand.sroa_idx = getelementptr inbounds i8, ptr %pass, i64 120
  store ptr %gradient, ptr %new.sroa.9.0.at_hand.sroa_idx, align 8
  br label %cleanup30

if.end23:                                         ; preds = %if.end14
  %count.i = getelementptr inbounds i8, ptr %pass, i64 128
  %8 = load i64, ptr %count.i, align 8
  %room.i = getelementptr inbounds i8, ptr %pass, i64 136
  %9 = load i64, ptr %room.i, align 8
  %cmp.i = icmp eq i64 %8, %9
  br i1 %cmp.i, label %if.then.i, label %if.end11.i

if.then.i:                                        ; preds = %if.end23
  %tobool.not.i = icmp eq i64 %8, 0
  %mul.i = shl nsw i64 %8, 1
  %spec.select.i = select i1 %tobool.not.i, i64 16, i64 %mul.i
  %ready.i = getelementptr inbounds i8, ptr %pass, i64 88
  %10 = load ptr, ptr %ready.i, align 8
  %mul4.i = shl i64 %spec.select.i, 5
  %call.i = tail call ptr @realloc(ptr noundef %10, i64 noundef %mul4.i) #12
  %cmp5.i = icmp eq ptr %call.i, null
  br i1 %cmp5.i, label %if.end27, label %cleanup.thread.i

cleanup.thread.i:                                 ; preds = %if.then.i
  store ptr %call.i, ptr %ready.i, align 8
  store i64 %spec.select.i, ptr %room.i, align 8
  %.pre.i = load i64, ptr %count.i, align 8
  br label %if.end11.i

if.end11.i:                                       ; preds = %cleanup.thread.i, %if.end23
  %11 = phi i64 [ %.pre.i, %cleanup.thread.i ], [ %8, %if.end23 ]
  %inc.i = add nsw i64 %11, 1
  store i64 %inc.i, ptr %count.i, align 8
  %cmp1349.i = icmp sgt i64 %11, 0
  br i1 %cmp1349.i, label %land.rhs.lr.ph.i, label %push.exit.thread

land.rhs.lr.ph.i:                                 ; preds = %if.end11.i
  %ready14.i = getelementptr inbounds i8, ptr %pass, i64 88
  br label %land.rhs.i

land.rhs.i:                                       ; preds = %for.body.i, %land.rhs.lr.ph.i
  %place.050.i = phi i64 [ %11, %land.rhs.lr.ph.i ], [ %div47.i, %for.body.i ]
  %12 = load ptr, ptr %ready14.i, align 8
  %sub.i = add nsw i64 %place.050.i, -1
  %div47.i = lshr i64 %sub.i, 1
  %arrayidx.i = getelementptr inbounds %struct.waiting, ptr %12, i64 %div47.i
  %13 = load i64, ptr %arrayidx.i, align 8
  %cmp.not.i.i = icmp eq i64 %call10, %13
  br i1 %cmp.not.i.i, label %is_before.exit.i, label %cond.true.i.i

cond.true.i.i:                                    ; preds = %land.rhs.i
  %cmp4.i.i = icmp ugt i64 %call10, %13
  br i1 %cmp4.i.i, label %for.body.i, label %push.exit.thread

is_before.exit.i:                                 ; preds = %land.rhs.i
  %stamp5.i.i = getelementptr inbounds i8, ptr %arrayidx.i, i64 8
  %14 = load i64, ptr %stamp5.i.i, align 8
  %cmp6.i.i = icmp ult i64 %6, %14
  br i1 %cmp6.i.i, label %for.body.i, label %push.exit.thread

for.body.i:                                       ; preds = %is_before.exit.i, %cond.true.i.i
  %arrayidx18.i = getelementptr inbounds %struct.waiting, ptr %12, i64 %place.050.i
  tail call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(32) %arrayidx18.i, ptr noundef nonnull align 8 dereferenceable(32) %arrayidx.i, i64 32, i1 false)
  %cmp13.not.i = icmp ult i64 %sub.i, 2
  br i1 %cmp13.not.i, label %push.exit.thread, label %land.rhs.i

push.exit.thread:                                 ; preds = %cond.true.i.i, %is_before.exit.i, %for.body.i, %if.end11.i
  %place.0.lcssa.i = phi i64 [ %11, %if.end11.i ], [ %place.050.i, %is_before.exit.i ], [ %div47.i, %for.body.i ], [ %place.050.i, %cond.true.i.i ]
  %ready25.i = getelementptr inbounds i8, ptr %pass, i64 88
  %15 = load ptr, ptr %ready25.i, align 8
  %arrayidx26.i = getelementptr inbounds %struct.waiting, ptr %15, i64 %place.0.lcssa.i
  store i64 %call10, ptr %arrayidx26.i, align 8
  %new.sroa.6.0.arrayidx26.i.sroa_idx = getelementptr inbounds i8, ptr %arrayidx26.i, i64 8
  store i64 %6, ptr %new.sroa.6.0.arrayidx26.i.sroa_idx, align 8
  %new.sroa.8.0.arrayidx26.i.sroa_idx = getelementptr inbounds i8, ptr %arrayidx26.i, i64 16
  store ptr %node, ptr %new.sroa.8.0.arrayidx26.i.sroa_idx, align 8
  %new.sroa.9.0.arrayidx26.i.sroa_idx = getelementptr inbounds i8, ptr %arrayidx26.i, i64 24
  store ptr %gradient, ptr %new.sroa.9.0.arrayidx26.i.sroa_idx, align 8
  br label %cleanup30

if.end27:                                         ; preds = %if.then.i
  %call7.i = tail call ptr @PyErr_NoMemory() #11
  tail call void @Py_DecRef(ptr noundef nonnull %node) #11
  tail call void @Py_DecRef(ptr noundef %gradient) #11
  br label %cleanup30

cleanup30:                                        ; preds = %if.then21, %if.end27, %push.exit.thread, %if.then13, %if.then4, %if.end
  %retval.3 = phi i32 [ -1, %if.then4 ], [ %call8, %if.end ], [ -1, %if.then13 ], [ 0, %if.then21 ], [ -1, %if.end27 ], [ 0, %push.exit.thread ]
  ret i32 %retval.3
}

declare ptr @PyTuple_New(i64 noundef) local_unnamed_addr #2

declare i32 @PyTuple_SetItem(ptr noundef, i64 noundef, ptr noundef) local_unnamed_addr #2

declare i64 @PyLong_AsUnsignedLongLong(ptr noundef) local_unnamed_addr #2

declare void @llvm.memcpy.p0.p0.i64(ptr noalias nocapture writeonly, ptr noalias nocapture readonly, i64, i1 immarg) #5

declare noalias noundef ptr @realloc(ptr allocptr nocapture noundef, i64 noundef) local_unnamed_addr #6

declare ptr @PyErr_NoMemory() local_unnamed_addr #2

declare ptr @PyBool_FromLong(i64 noundef) local_unnamed_addr #2

declare i32 @PyErr_CheckSignals() local_unnamed_addr #2

define internal fastcc ptr @pull_natively(ptr nocapture noundef readonly %known, ptr nocapture noundef %node, ptr nocapture noundef readonly %table, ptr noundef %gradient, i32 noundef %keep) unnamed_addr #0 {
entry:
  %values.i = alloca %struct.values, align 8
  %is_reduced.i = alloca %struct.steps, align 8
  %values = alloca %struct.values, align 8
  %steps = alloca %struct.steps, align 8
  %data.i = getelementptr inbounds i8, ptr %table, i64 16
  %0 = load ptr, ptr %data.i, align 8
  %next_of_node = getelementptr inbounds i8, ptr %known, i64 192
  %1 = load i64, ptr %next_of_node, align 8
  %add.ptr = getelementptr inbounds i8, ptr %node, i64 %1
  %2 = load ptr, ptr %add.ptr, align 8
  call void @llvm.lifetime.start.p0(i64 408, ptr nonnull %values) #11
  %is_sum = getelementptr inbounds i8, ptr %0, i64 16
  %3 = load i64, ptr %is_sum, align 8
  %tobool.not = icmp eq i64 %3, 0
  br i1 %tobool.not, label %if.end, label %if.then

if.then:                                          ; preds = %entry
  call void @llvm.lifetime.start.p0(i64 408, ptr nonnull %values.i) #11
  %4 = getelementptr inbounds i8, ptr %values.i, i64 8
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(408) %4, i8 0, i64 400, i1 false)
  %specs_of_node.i = getelementptr inbounds i8, ptr %known, i64 232
  %5 = load i64, ptr %specs_of_node.i, align 8
  %add.ptr.i = getelementptr inbounds i8, ptr %node, i64 %5
  %6 = load ptr, ptr %add.ptr.i, align 8
  %call.i = tail call ptr @PyTuple_GetItem(ptr noundef %6, i64 noundef 0) #11
  %shape_of_spec.i = getelementptr inbounds i8, ptr %known, i64 240
  %7 = load i64, ptr %shape_of_spec.i, align 8
  %add.ptr1.i = getelementptr inbounds i8, ptr %call.i, i64 %7
  %8 = load ptr, ptr %add.ptr1.i, align 8
  %params_of_node.i = getelementptr inbounds i8, ptr %known, i64 224
  %9 = load i64, ptr %params_of_node.i, align 8
  %add.ptr2.i = getelementptr inbounds i8, ptr %node, i64 %9
  %10 = load ptr, ptr %add.ptr2.i, align 8
  %axis3.i = getelementptr inbounds i8, ptr %known, i64 160
  %11 = load ptr, ptr %axis3.i, align 8
  %call4.i = tail call ptr @PyDict_GetItemWithError(ptr noundef %10, ptr noundef %11) #11
  %call5.i = tail call i64 @PyTuple_Size(ptr noundef %8) #11
  %cmp.i = icmp eq ptr %call4.i, null
  br i1 %cmp.i, label %if.then.i, label %lor.lhs.false.i

lor.lhs.false.i:                                  ; preds = %if.then
  %ob_type.i.i = getelementptr inbounds i8, ptr %call4.i, i64 8
  %12 = load ptr, ptr %ob_type.i.i, align 8
  %call.i.i = tail call i64 @PyType_GetFlags(ptr noundef %12) #11
  %13 = and i64 %call.i.i, 67108864
  %tobool.i = icmp eq i64 %13, 0
  %cmp9.i = icmp sgt i64 %call5.i, 6
  %or.cond.i = select i1 %tobool.i, i1 true, i1 %cmp9.i
  br i1 %or.cond.i, label %if.then.i, label %lor.lhs.false10.i

lor.lhs.false10.i:                                ; preds = %lor.lhs.false.i
  %descr.i.i.i = getelementptr inbounds i8, ptr %gradient, i64 56
  %14 = load ptr, ptr %descr.i.i.i, align 8
  %type_num.i.i = getelementptr inbounds i8, ptr %14, i64 28
  %15 = load i32, ptr %type_num.i.i, align 4
  %16 = add i32 %15, -11
  %or.cond.i.i = icmp ult i32 %16, 2
  br i1 %or.cond.i.i, label %land.lhs.true.i.i, label %if.then.i

land.lhs.true.i.i:                                ; preds = %lor.lhs.false10.i
  %byteorder.i.i = getelementptr inbounds i8, ptr %14, i64 26
  %17 = load i8, ptr %byteorder.i.i, align 2
  %cmp3.not.i.i = icmp eq i8 %17, 62
  br i1 %cmp3.not.i.i, label %if.then.i, label %land.lhs.true5.i.i

land.lhs.true5.i.i:                               ; preds = %land.lhs.true.i.i
  %nd.i.i.i = getelementptr inbounds i8, ptr %gradient, i64 24
  %18 = load i32, ptr %nd.i.i.i, align 8
  %cmp7.i.i = icmp slt i32 %18, 7
  br i1 %cmp7.i.i, label %land.lhs.true9.i.i, label %if.then.i

land.lhs.true9.i.i:                               ; preds = %land.lhs.true5.i.i
  %cmp6.i.i.i = icmp sgt i32 %18, 0
  br i1 %cmp6.i.i.i, label %for.body.lr.ph.i.i.i, label %land.rhs.i.i

for.body.lr.ph.i.i.i:                             ; preds = %land.lhs.true9.i.i
  %dimensions.i.i.i.i = getelementptr inbounds i8, ptr %gradient, i64 32
  %19 = load ptr, ptr %dimensions.i.i.i.i, align 8
  %wide.trip.count.i.i.i = zext nneg i32 %18 to i64
  br label %for.body.i.i.i

for.body.i.i.i:                                   ; preds = %for.body.i.i.i, %for.body.lr.ph.i.i.i
  %indvars.iv.i.i.i = phi i64 [ 0, %for.body.lr.ph.i.i.i ], [ %indvars.iv.next.i.i.i, %for.body.i.i.i ]
  %size.07.i.i.i = phi i64 [ 1, %for.body.lr.ph.i.i.i ], [ %mul.i.i.i, %for.body.i.i.i ]
  %arrayidx.i.i.i = getelementptr inbounds i64, ptr %19, i64 %indvars.iv.i.i.i
  %20 = load i64, ptr %arrayidx.i.i.i, align 8
  %mul.i.i.i = mul nsw i64 %20, %size.07.i.i.i
  %indvars.iv.next.i.i.i = add nuw nsw i64 %indvars.iv.i.i.i, 1
  %exitcond.not.i.i.i = icmp eq i64 %indvars.iv.next.i.i.i, %wide.trip.count.i.i.i
  br i1 %exitcond.not.i.i.i, label %size_of.exit.i.i, label %for.body.i.i.i

size_of.exit.i.i:                                 ; preds = %for.body.i.i.i
  %cmp11.i.i = icmp slt i64 %mul.i.i.i, 513
  br i1 %cmp11.i.i, label %land.rhs.i.i, label %if.then.i

land.rhs.i.i:                                     ; preds = %size_of.exit.i.i, %land.lhs.true9.i.i
  %flags.i.i.i.i = getelementptr inbounds i8, ptr %gradient, i64 64
  %21 = load i32, ptr %flags.i.i.i.i, align 8
  %and.i.i.i = and i32 %21, 256
  %tobool.not.i.i.i = icmp eq i32 %and.i.i.i, 0
  br i1 %tobool.not.i.i.i, label %if.then.i, label %if.end.i.i.i

if.end.i.i.i:                                     ; preds = %land.rhs.i.i
  %strides.i.i.i.i = getelementptr inbounds i8, ptr %gradient, i64 40
  %and.i.i.i.i = and i32 %21, 1
  %tobool3.not.i.i.i = icmp eq i32 %and.i.i.i.i, 0
  %or.cond5154.i.i.i = and i1 %cmp6.i.i.i, %tobool3.not.i.i.i
  br i1 %or.cond5154.i.i.i, label %for.body.lr.ph.i21.i.i, label %lor.lhs.false13.i

for.body.lr.ph.i21.i.i:                           ; preds = %if.end.i.i.i
  %dimensions.i.i22.i.i = getelementptr inbounds i8, ptr %gradient, i64 32
  %22 = load ptr, ptr %dimensions.i.i22.i.i, align 8
  %23 = zext nneg i32 %18 to i64
  br label %for.body.i23.i.i

for.body.i23.i.i:                                 ; preds = %cleanup.i.i.i, %for.body.lr.ph.i21.i.i
  %indvars.iv.i24.i.i = phi i64 [ %23, %for.body.lr.ph.i21.i.i ], [ %indvars.iv.next.i25.i.i, %cleanup.i.i.i ]
  %inner.055.i.i.i = phi i64 [ 0, %for.body.lr.ph.i21.i.i ], [ %inner.1.i.i.i, %cleanup.i.i.i ]
  %indvars.iv.next.i25.i.i = add nsw i64 %indvars.iv.i24.i.i, -1
  %arrayidx.i26.i.i = getelementptr inbounds i64, ptr %22, i64 %indvars.iv.next.i25.i.i
  %24 = load i64, ptr %arrayidx.i26.i.i, align 8
  %cmp5.i.i.i = icmp eq i64 %24, 1
  br i1 %cmp5.i.i.i, label %if.end13.thread.i.i.i, label %cond.end.i.i.i

cond.end.i.i.i:                                   ; preds = %for.body.i23.i.i
  %25 = load ptr, ptr %strides.i.i.i.i, align 8
  %arrayidx8.i.i.i = getelementptr inbounds i64, ptr %25, i64 %indvars.iv.next.i25.i.i
  %26 = load i64, ptr %arrayidx8.i.i.i, align 8
  %.fr.i.i.i = freeze i64 %26
  %cmp9.i.i.i = icmp slt i64 %.fr.i.i.i, 0
  br i1 %cmp9.i.i.i, label %if.then.i, label %lor.lhs.false.i.i.i

lor.lhs.false.i.i.i:                              ; preds = %cond.end.i.i.i
  %cmp10.not.i.i.i = icmp ne i64 %.fr.i.i.i, 0
  %cmp11.i.i.i = icmp slt i64 %.fr.i.i.i, %inner.055.i.i.i
  %or.cond.i.i.i = select i1 %cmp10.not.i.i.i, i1 %cmp11.i.i.i, i1 false
  br i1 %or.cond.i.i.i, label %if.then.i, label %if.end13.i.i.i

if.end13.i.i.i:                                   ; preds = %lor.lhs.false.i.i.i
  %cmp14.i.i.i = icmp eq i64 %.fr.i.i.i, 0
  br i1 %cmp14.i.i.i, label %if.end13.thread.i.i.i, label %cleanup.i.i.i

if.end13.thread.i.i.i:                            ; preds = %if.end13.i.i.i, %for.body.i23.i.i
  br label %cleanup.i.i.i

cleanup.i.i.i:                                    ; preds = %if.end13.thread.i.i.i, %if.end13.i.i.i
  %inner.1.i.i.i = phi i64 [ %inner.055.i.i.i, %if.end13.thread.i.i.i ], [ %.fr.i.i.i, %if.end13.i.i.i ]
  %cmp.i.i.i = icmp ugt i64 %indvars.iv.i24.i.i, 1
  br i1 %cmp.i.i.i, label %for.body.i23.i.i, label %lor.lhs.false13.i

lor.lhs.false13.i:                                ; preds = %cleanup.i.i.i, %if.end.i.i.i
  %dtype_of_spec.i = getelementptr inbounds i8, ptr %known, i64 248
  %27 = load i64, ptr %dtype_of_spec.i, align 8
  %add.ptr14.i = getelementptr inbounds i8, ptr %call.i, i64 %27
  %28 = load ptr, ptr %add.ptr14.i, align 8
  %cmp16.not.i = icmp eq ptr %28, %14
  br i1 %cmp16.not.i, label %if.end.i, label %if.then.i

if.then.i:                                        ; preds = %lor.lhs.false.i.i.i, %cond.end.i.i.i, %lor.lhs.false13.i, %land.rhs.i.i, %size_of.exit.i.i, %land.lhs.true5.i.i, %land.lhs.true.i.i, %lor.lhs.false10.i, %lor.lhs.false.i, %if.then
  %call17.i = tail call ptr @PyErr_Occurred() #11
  %tobool18.not.i = icmp eq ptr %call17.i, null
  br i1 %tobool18.not.i, label %cond.false.i, label %pull_sum.exit

cond.false.i:                                     ; preds = %if.then.i
  %none.i = getelementptr inbounds i8, ptr %known, i64 8
  %29 = load ptr, ptr %none.i, align 8
  tail call void @Py_IncRef(ptr noundef %29) #11
  br label %pull_sum.exit

if.end.i:                                         ; preds = %lor.lhs.false13.i
  call void @llvm.lifetime.start.p0(i64 48, ptr nonnull %is_reduced.i) #11
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(48) %is_reduced.i, i8 0, i64 48, i1 false)
  %call20212.i = tail call i64 @PyTuple_Size(ptr noundef nonnull %call4.i) #11
  %cmp21213.i = icmp sgt i64 %call20212.i, 0
  br i1 %cmp21213.i, label %for.body.i, label %for.cond.cleanup.i

for.cond.cleanup.i:                               ; preds = %for.body.i, %if.end.i
  %conv.i = trunc i64 %call5.i to i32
  %ndim24.i = getelementptr inbounds i8, ptr %values.i, i64 80
  store i32 %conv.i, ptr %ndim24.i, align 8
  %data.i.i = getelementptr inbounds i8, ptr %gradient, i64 16
  %30 = load ptr, ptr %data.i.i, align 8
  store ptr %30, ptr %values.i, align 8
  %31 = load i32, ptr %nd.i.i.i, align 8
  %conv29.i = sext i32 %31 to i64
  %cmp30.i = icmp eq i64 %call5.i, %conv29.i
  %cmp34215.i = icmp sgt i64 %call5.i, 0
  br i1 %cmp34215.i, label %for.body37.lr.ph.i, label %for.cond.cleanup36.i

for.body37.lr.ph.i:                               ; preds = %for.cond.cleanup.i
  %lengths.i = getelementptr inbounds i8, ptr %values.i, i64 96
  %of_g55.i = getelementptr inbounds i8, ptr %values.i, i64 240
  br label %for.body37.i

for.body.i:                                       ; preds = %if.end.i, %for.body.i
  %k.0214.i = phi i64 [ %inc.i, %for.body.i ], [ 0, %if.end.i ]
  %call22.i = tail call ptr @PyTuple_GetItem(ptr noundef nonnull %call4.i, i64 noundef %k.0214.i) #11
  %call23.i = tail call i64 @PyLong_AsLong(ptr noundef %call22.i) #11
  %arrayidx.i = getelementptr inbounds [6 x i64], ptr %is_reduced.i, i64 0, i64 %call23.i
  store i64 1, ptr %arrayidx.i, align 8
  %inc.i = add nuw nsw i64 %k.0214.i, 1
  %call20.i = tail call i64 @PyTuple_Size(ptr noundef nonnull %call4.i) #11
  %cmp21.i = icmp slt i64 %inc.i, %call20.i
  br i1 %cmp21.i, label %for.body.i, label %for.cond.cleanup.i

for.cond.cleanup36.loopexit.i:                    ; preds = %cond.end53.i
  %.pre.i = load i32, ptr %nd.i.i.i, align 8
  br label %for.cond.cleanup36.i

for.cond.cleanup36.i:                             ; preds = %for.cond.cleanup36.loopexit.i, %for.cond.cleanup.i
  %32 = phi i32 [ %31, %for.cond.cleanup.i ], [ %.pre.i, %for.cond.cleanup36.loopexit.i ]
  %of_g.0.lcssa.i = phi i32 [ 0, %for.cond.cleanup.i ], [ %add.i, %for.cond.cleanup36.loopexit.i ]
  %33 = load ptr, ptr %descr.i.i.i, align 8
  %type_num.i = getelementptr inbounds i8, ptr %33, i64 28
  %34 = load i32, ptr %type_num.i, align 4
  %cmp66.i = icmp eq i32 %34, 12
  %cmp69.not.i = icmp eq i32 %of_g.0.lcssa.i, %32
  br i1 %cmp69.not.i, label %cond.false72.i, label %if.then84.i

for.body37.i:                                     ; preds = %cond.end53.i, %for.body37.lr.ph.i
  %of_g.0217.i = phi i32 [ 0, %for.body37.lr.ph.i ], [ %add.i, %cond.end53.i ]
  %k32.0216.i = phi i64 [ 0, %for.body37.lr.ph.i ], [ %inc63.i, %cond.end53.i ]
  %call38.i = tail call ptr @PyTuple_GetItem(ptr noundef %8, i64 noundef %k32.0216.i) #11
  %call39.i = tail call i64 @PyLong_AsSsize_t(ptr noundef %call38.i) #11
  %arrayidx40.i = getelementptr inbounds [6 x i64], ptr %lengths.i, i64 0, i64 %k32.0216.i
  store i64 %call39.i, ptr %arrayidx40.i, align 8
  %arrayidx42.i = getelementptr inbounds [6 x i64], ptr %is_reduced.i, i64 0, i64 %k32.0216.i
  %35 = load i64, ptr %arrayidx42.i, align 8
  %tobool43.not.i = icmp ne i64 %35, 0
  %cmp47.i = icmp eq i64 %call39.i, 1
  %or.cond190.i = select i1 %tobool43.not.i, i1 true, i1 %cmp47.i
  br i1 %or.cond190.i, label %cond.end53.i, label %cond.false50.i

cond.false50.i:                                   ; preds = %for.body37.i
  %36 = load ptr, ptr %strides.i.i.i.i, align 8
  %idxprom.i = zext nneg i32 %of_g.0217.i to i64
  %arrayidx52.i = getelementptr inbounds i64, ptr %36, i64 %idxprom.i
  %37 = load i64, ptr %arrayidx52.i, align 8
  br label %cond.end53.i

cond.end53.i:                                     ; preds = %cond.false50.i, %for.body37.i
  %cond54.i = phi i64 [ %37, %cond.false50.i ], [ 0, %for.body37.i ]
  %arrayidx57.i = getelementptr inbounds [6 x i64], ptr %of_g55.i, i64 0, i64 %k32.0216.i
  store i64 %cond54.i, ptr %arrayidx57.i, align 8
  %tobool61.not.i = icmp eq i64 %35, 0
  %spec.select211.i = or i1 %cmp30.i, %tobool61.not.i
  %lor.ext.i = zext i1 %spec.select211.i to i32
  %add.i = add nuw nsw i32 %of_g.0217.i, %lor.ext.i
  %inc63.i = add nuw nsw i64 %k32.0216.i, 1
  %exitcond.not.i = icmp eq i64 %inc63.i, %call5.i
  br i1 %exitcond.not.i, label %for.cond.cleanup36.loopexit.i, label %for.body37.i

cond.false72.i:                                   ; preds = %for.cond.cleanup36.i
  %cmp17.i.i = icmp sgt i32 %conv.i, 0
  br i1 %cmp17.i.i, label %for.body.lr.ph.i.i, label %cond.end77.i

for.body.lr.ph.i.i:                               ; preds = %cond.false72.i
  %lengths.i.i = getelementptr inbounds i8, ptr %values.i, i64 96
  %full.i.i = getelementptr inbounds i8, ptr %values.i, i64 144
  %38 = and i64 %call5.i, 2147483647
  %39 = select i1 %cmp66.i, i64 3, i64 2
  br label %for.body.i.i

for.body.i.i:                                     ; preds = %for.body.i.i, %for.body.lr.ph.i.i
  %indvars.iv.i.i = phi i64 [ %38, %for.body.lr.ph.i.i ], [ %indvars.iv.next.i.i, %for.body.i.i ]
  %size.018.i.i = phi i64 [ 1, %for.body.lr.ph.i.i ], [ %mul7.i.i, %for.body.i.i ]
  %indvars.iv.next.i.i = add nsw i64 %indvars.iv.i.i, -1
  %arrayidx.i.i = getelementptr inbounds [6 x i64], ptr %lengths.i.i, i64 0, i64 %indvars.iv.next.i.i
  %40 = load i64, ptr %arrayidx.i.i, align 8
  %cmp1.i.i = icmp eq i64 %40, 1
  %mul.i.i = shl i64 %size.018.i.i, %39
  %cond.i.i = select i1 %cmp1.i.i, i64 0, i64 %mul.i.i
  %arrayidx3.i.i = getelementptr inbounds [6 x i64], ptr %full.i.i, i64 0, i64 %indvars.iv.next.i.i
  store i64 %cond.i.i, ptr %arrayidx3.i.i, align 8
  %mul7.i.i = mul nsw i64 %40, %size.018.i.i
  %cmp.i.i = icmp ugt i64 %indvars.iv.i.i, 1
  br i1 %cmp.i.i, label %for.body.i.i, label %cond.end77.i

cond.end77.i:                                     ; preds = %for.body.i.i, %cond.false72.i
  %cond78.i = phi i64 [ 1, %cond.false72.i ], [ %mul7.i.i, %for.body.i.i ]
  %cmp79.i = icmp eq i64 %cond78.i, 0
  %cmp82.i = icmp sgt i64 %cond78.i, 512
  %or.cond142.i = or i1 %cmp79.i, %cmp82.i
  br i1 %or.cond142.i, label %if.then84.i, label %if.end87.i

if.then84.i:                                      ; preds = %cond.end77.i, %for.cond.cleanup36.i
  %none85.i = getelementptr inbounds i8, ptr %known, i64 8
  %41 = load ptr, ptr %none85.i, align 8
  tail call void @Py_IncRef(ptr noundef %41) #11
  br label %cleanup132.i

if.end87.i:                                       ; preds = %cond.end77.i
  %cmp6.i.i = icmp sgt i32 %32, 0
  br i1 %cmp6.i.i, label %for.body.lr.ph.i195.i, label %size_of.exit.i

for.body.lr.ph.i195.i:                            ; preds = %if.end87.i
  %dimensions.i.i.i = getelementptr inbounds i8, ptr %gradient, i64 32
  %42 = load ptr, ptr %dimensions.i.i.i, align 8
  %wide.trip.count.i.i = zext nneg i32 %32 to i64
  br label %for.body.i196.i

for.body.i196.i:                                  ; preds = %for.body.i196.i, %for.body.lr.ph.i195.i
  %indvars.iv.i197.i = phi i64 [ 0, %for.body.lr.ph.i195.i ], [ %indvars.iv.next.i200.i, %for.body.i196.i ]
  %size.07.i.i = phi i64 [ 1, %for.body.lr.ph.i195.i ], [ %mul.i199.i, %for.body.i196.i ]
  %arrayidx.i198.i = getelementptr inbounds i64, ptr %42, i64 %indvars.iv.i197.i
  %43 = load i64, ptr %arrayidx.i198.i, align 8
  %mul.i199.i = mul nsw i64 %43, %size.07.i.i
  %indvars.iv.next.i200.i = add nuw nsw i64 %indvars.iv.i197.i, 1
  %exitcond.not.i.i = icmp eq i64 %indvars.iv.next.i200.i, %wide.trip.count.i.i
  br i1 %exitcond.not.i.i, label %size_of.exit.i, label %for.body.i196.i

size_of.exit.i:                                   ; preds = %for.body.i196.i, %if.end87.i
  %size.0.lcssa.i194.i = phi i64 [ 1, %if.end87.i ], [ %mul.i199.i, %for.body.i196.i ]
  %div.i = sdiv i64 %cond78.i, %size.0.lcssa.i194.i
  %conv89.i = sitofp i64 %div.i to double
  %wide.i = getelementptr inbounds i8, ptr %values.i, i64 384
  store double %conv89.i, ptr %wide.i, align 8
  %conv93.i = fptrunc double %conv89.i to float
  %narrow.i = getelementptr inbounds i8, ptr %values.i, i64 400
  store float %conv93.i, ptr %narrow.i, align 8
  %spec.select.i = select i1 %cmp66.i, ptr %wide.i, ptr %narrow.i
  store ptr %spec.select.i, ptr %4, align 8
  call void @Py_IncRef(ptr noundef %33) #11
  %44 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx107.i = getelementptr inbounds i8, ptr %44, i64 752
  %45 = load ptr, ptr %arrayidx107.i, align 8
  %arrayidx108.i = getelementptr inbounds i8, ptr %44, i64 16
  %46 = load ptr, ptr %arrayidx108.i, align 8
  %47 = load ptr, ptr %descr.i.i.i, align 8
  %lengths111.i = getelementptr inbounds i8, ptr %values.i, i64 96
  %call112.i = call ptr %45(ptr noundef %46, ptr noundef %47, i32 noundef %conv.i, ptr noundef nonnull %lengths111.i, ptr noundef null, ptr noundef null, i32 noundef 0, ptr noundef null) #11
  %cmp113.i = icmp eq ptr %call112.i, null
  br i1 %cmp113.i, label %if.then122.i, label %cond.end118.i

cond.end118.i:                                    ; preds = %size_of.exit.i
  %call117.i = call ptr @PyTuple_New(i64 noundef 1) #11
  %cmp120.i = icmp eq ptr %call117.i, null
  br i1 %cmp120.i, label %if.then122.i, label %if.end123.i

if.then122.i:                                     ; preds = %cond.end118.i, %size_of.exit.i
  call void @Py_DecRef(ptr noundef %call112.i) #11
  br label %cleanup132.i

if.end123.i:                                      ; preds = %cond.end118.i
  %rest.i = getelementptr inbounds i8, ptr %0, i64 96
  %cond129.in.v.i = select i1 %cmp66.i, i64 72, i64 64
  %cond129.in.i = getelementptr inbounds i8, ptr %0, i64 %cond129.in.v.i
  %cond129.i = load i64, ptr %cond129.in.i, align 8
  call fastcc void @take_steps(ptr noundef nonnull %rest.i, i64 noundef %cond129.i, ptr noundef nonnull %values.i, ptr noundef nonnull %call112.i)
  %call130.i = call i32 @PyTuple_SetItem(ptr noundef nonnull %call117.i, i64 noundef 0, ptr noundef nonnull %call112.i) #11
  br label %cleanup132.i

cleanup132.i:                                     ; preds = %if.end123.i, %if.then122.i, %if.then84.i
  %retval.1.i = phi ptr [ %41, %if.then84.i ], [ null, %if.then122.i ], [ %call117.i, %if.end123.i ]
  call void @llvm.lifetime.end.p0(i64 48, ptr nonnull %is_reduced.i) #11
  br label %pull_sum.exit

pull_sum.exit:                                    ; preds = %if.then.i, %cond.false.i, %cleanup132.i
  %retval.2.i = phi ptr [ %retval.1.i, %cleanup132.i ], [ %29, %cond.false.i ], [ null, %if.then.i ]
  call void @llvm.lifetime.end.p0(i64 408, ptr nonnull %values.i) #11
  br label %cleanup127

if.end:                                           ; preds = %entry
  %48 = getelementptr inbounds i8, ptr %values, i64 8
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(408) %48, i8 0, i64 400, i1 false)
  %descr.i.i.i210 = getelementptr inbounds i8, ptr %gradient, i64 56
  %49 = load ptr, ptr %descr.i.i.i210, align 8
  %type_num.i.i211 = getelementptr inbounds i8, ptr %49, i64 28
  %50 = load i32, ptr %type_num.i.i211, align 4
  %51 = add i32 %50, -11
  %or.cond.i.i212 = icmp ult i32 %51, 2
  br i1 %or.cond.i.i212, label %land.lhs.true.i.i213, label %if.then8

land.lhs.true.i.i213:                             ; preds = %if.end
  %byteorder.i.i214 = getelementptr inbounds i8, ptr %49, i64 26
  %52 = load i8, ptr %byteorder.i.i214, align 2
  %cmp3.not.i.i215 = icmp eq i8 %52, 62
  br i1 %cmp3.not.i.i215, label %if.then8, label %land.lhs.true5.i.i216

land.lhs.true5.i.i216:                            ; preds = %land.lhs.true.i.i213
  %nd.i.i.i217 = getelementptr inbounds i8, ptr %gradient, i64 24
  %53 = load i32, ptr %nd.i.i.i217, align 8
  %cmp7.i.i218 = icmp slt i32 %53, 7
  br i1 %cmp7.i.i218, label %land.lhs.true9.i.i219, label %if.then8

land.lhs.true9.i.i219:                            ; preds = %land.lhs.true5.i.i216
  %cmp6.i.i.i220 = icmp sgt i32 %53, 0
  br i1 %cmp6.i.i.i220, label %for.body.lr.ph.i.i.i265, label %land.rhs.i.i221

for.body.lr.ph.i.i.i265:                          ; preds = %land.lhs.true9.i.i219
  %dimensions.i.i.i.i266 = getelementptr inbounds i8, ptr %gradient, i64 32
  %54 = load ptr, ptr %dimensions.i.i.i.i266, align 8
  %wide.trip.count.i.i.i267 = zext nneg i32 %53 to i64
  br label %for.body.i.i.i268

for.body.i.i.i268:                                ; preds = %for.body.i.i.i268, %for.body.lr.ph.i.i.i265
  %indvars.iv.i.i.i269 = phi i64 [ 0, %for.body.lr.ph.i.i.i265 ], [ %indvars.iv.next.i.i.i273, %for.body.i.i.i268 ]
  %size.07.i.i.i270 = phi i64 [ 1, %for.body.lr.ph.i.i.i265 ], [ %mul.i.i.i272, %for.body.i.i.i268 ]
  %arrayidx.i.i.i271 = getelementptr inbounds i64, ptr %54, i64 %indvars.iv.i.i.i269
  %55 = load i64, ptr %arrayidx.i.i.i271, align 8
  %mul.i.i.i272 = mul nsw i64 %55, %size.07.i.i.i270
  %indvars.iv.next.i.i.i273 = add nuw nsw i64 %indvars.iv.i.i.i269, 1
  %exitcond.not.i.i.i274 = icmp eq i64 %indvars.iv.next.i.i.i273, %wide.trip.count.i.i.i267
  br i1 %exitcond.not.i.i.i274, label %size_of.exit.i.i275, label %for.body.i.i.i268

size_of.exit.i.i275:                              ; preds = %for.body.i.i.i268
  %cmp11.i.i276 = icmp slt i64 %mul.i.i.i272, 513
  br i1 %cmp11.i.i276, label %land.rhs.i.i221, label %if.then8

land.rhs.i.i221:                                  ; preds = %size_of.exit.i.i275, %land.lhs.true9.i.i219
  %flags.i.i.i.i222 = getelementptr inbounds i8, ptr %gradient, i64 64
  %56 = load i32, ptr %flags.i.i.i.i222, align 8
  %and.i.i.i223 = and i32 %56, 256
  %tobool.not.i.i.i224 = icmp eq i32 %and.i.i.i223, 0
  br i1 %tobool.not.i.i.i224, label %if.then8, label %if.end.i.i.i225

if.end.i.i.i225:                                  ; preds = %land.rhs.i.i221
  %strides.i.i.i.i226 = getelementptr inbounds i8, ptr %gradient, i64 40
  %and.i.i.i.i227 = and i32 %56, 1
  %tobool3.not.i.i.i228 = icmp eq i32 %and.i.i.i.i227, 0
  %or.cond5154.i.i.i229 = and i1 %cmp6.i.i.i220, %tobool3.not.i.i.i228
  %dimensions.i.i22.i.i244 = getelementptr inbounds i8, ptr %gradient, i64 32
  %57 = load ptr, ptr %dimensions.i.i22.i.i244, align 8
  br i1 %or.cond5154.i.i.i229, label %for.body.lr.ph.i21.i.i243, label %if.end.i230

for.body.lr.ph.i21.i.i243:                        ; preds = %if.end.i.i.i225
  %58 = zext nneg i32 %53 to i64
  br label %for.body.i23.i.i245

for.body.i23.i.i245:                              ; preds = %cleanup.i.i.i261, %for.body.lr.ph.i21.i.i243
  %indvars.iv.i24.i.i246 = phi i64 [ %58, %for.body.lr.ph.i21.i.i243 ], [ %indvars.iv.next.i25.i.i248, %cleanup.i.i.i261 ]
  %inner.055.i.i.i247 = phi i64 [ 0, %for.body.lr.ph.i21.i.i243 ], [ %inner.1.i.i.i262, %cleanup.i.i.i261 ]
  %indvars.iv.next.i25.i.i248 = add nsw i64 %indvars.iv.i24.i.i246, -1
  %arrayidx.i26.i.i249 = getelementptr inbounds i64, ptr %57, i64 %indvars.iv.next.i25.i.i248
  %59 = load i64, ptr %arrayidx.i26.i.i249, align 8
  %cmp5.i.i.i250 = icmp eq i64 %59, 1
  br i1 %cmp5.i.i.i250, label %if.end13.thread.i.i.i264, label %cond.end.i.i.i251

cond.end.i.i.i251:                                ; preds = %for.body.i23.i.i245
  %60 = load ptr, ptr %strides.i.i.i.i226, align 8
  %arrayidx8.i.i.i252 = getelementptr inbounds i64, ptr %60, i64 %indvars.iv.next.i25.i.i248
  %61 = load i64, ptr %arrayidx8.i.i.i252, align 8
  %.fr.i.i.i253 = freeze i64 %61
  %cmp9.i.i.i254 = icmp slt i64 %.fr.i.i.i253, 0
  br i1 %cmp9.i.i.i254, label %if.then8, label %lor.lhs.false.i.i.i255

lor.lhs.false.i.i.i255:                           ; preds = %cond.end.i.i.i251
  %cmp10.not.i.i.i256 = icmp ne i64 %.fr.i.i.i253, 0
  %cmp11.i.i.i257 = icmp slt i64 %.fr.i.i.i253, %inner.055.i.i.i247
  %or.cond.i.i.i258 = select i1 %cmp10.not.i.i.i256, i1 %cmp11.i.i.i257, i1 false
  br i1 %or.cond.i.i.i258, label %if.then8, label %if.end13.i.i.i259

if.end13.i.i.i259:                                ; preds = %lor.lhs.false.i.i.i255
  %cmp14.i.i.i260 = icmp eq i64 %.fr.i.i.i253, 0
  br i1 %cmp14.i.i.i260, label %if.end13.thread.i.i.i264, label %cleanup.i.i.i261

if.end13.thread.i.i.i264:                         ; preds = %if.end13.i.i.i259, %for.body.i23.i.i245
  br label %cleanup.i.i.i261

cleanup.i.i.i261:                                 ; preds = %if.end13.thread.i.i.i264, %if.end13.i.i.i259
  %inner.1.i.i.i262 = phi i64 [ %inner.055.i.i.i247, %if.end13.thread.i.i.i264 ], [ %.fr.i.i.i253, %if.end13.i.i.i259 ]
  %cmp.i.i.i263 = icmp ugt i64 %indvars.iv.i24.i.i246, 1
  br i1 %cmp.i.i.i263, label %for.body.i23.i.i245, label %if.end.i230

if.end.i230:                                      ; preds = %cleanup.i.i.i261, %if.end.i.i.i225
  %is_flat.i = getelementptr inbounds i8, ptr %values, i64 84
  store i32 1, ptr %is_flat.i, align 4
  %ndim.i = getelementptr inbounds i8, ptr %values, i64 80
  store i32 %53, ptr %ndim.i, align 8
  %data.i.i231 = getelementptr inbounds i8, ptr %gradient, i64 16
  %62 = load ptr, ptr %data.i.i231, align 8
  store ptr %62, ptr %values, align 8
  %lengths.i232 = getelementptr inbounds i8, ptr %values, i64 96
  %conv.i233 = sext i32 %53 to i64
  %mul.i = shl nsw i64 %conv.i233, 3
  call void @llvm.memcpy.p0.p0.i64(ptr nonnull align 8 %lengths.i232, ptr align 8 %57, i64 %mul.i, i1 false)
  br i1 %cmp6.i.i.i220, label %land.rhs.lr.ph.i, label %lor.lhs.false

land.rhs.lr.ph.i:                                 ; preds = %if.end.i230
  %wide.trip.count.i = zext nneg i32 %53 to i64
  br i1 %tobool3.not.i.i.i228, label %land.rhs.i, label %for.cond.preheader.i.i.split

land.rhs.i:                                       ; preds = %land.rhs.lr.ph.i, %land.end21.i
  %63 = phi i32 [ %land.ext.i, %land.end21.i ], [ 1, %land.rhs.lr.ph.i ]
  %indvars.iv.i = phi i64 [ %indvars.iv.next.i, %land.end21.i ], [ 0, %land.rhs.lr.ph.i ]
  %tobool10.not.i = icmp eq i32 %63, 0
  br i1 %tobool10.not.i, label %land.end21.i, label %land.rhs11.i

for.cond.preheader.i.i.split:                     ; preds = %land.end21.i, %land.rhs.lr.ph.i
  %of_g.i = getelementptr inbounds i8, ptr %values, i64 240
  br label %for.body.i.i237

for.body.i.i237:                                  ; preds = %cond.end19.i.i, %for.cond.preheader.i.i.split
  %indvars.iv.i.i238 = phi i64 [ %wide.trip.count.i, %for.cond.preheader.i.i.split ], [ %indvars.iv.next.i.i239, %cond.end19.i.i ]
  %indvars.iv.next.i.i239 = add nsw i64 %indvars.iv.i.i238, -1
  %cmp3.not.i48.i = icmp sgt i64 %indvars.iv.i.i238, 0
  br i1 %cmp3.not.i48.i, label %cond.end.i.i, label %cond.end19.i.i

cond.end.i.i:                                     ; preds = %for.body.i.i237
  %arrayidx.i.i240 = getelementptr inbounds i64, ptr %57, i64 %indvars.iv.next.i.i239
  %64 = load i64, ptr %arrayidx.i.i240, align 8
  %arrayidx7.i.i = getelementptr inbounds i64, ptr %lengths.i232, i64 %indvars.iv.next.i.i239
  %65 = load i64, ptr %arrayidx7.i.i, align 8
  %cmp8.i.i = icmp eq i64 %64, %65
  %cmp9.i.i = icmp eq i64 %64, 1
  %or.cond.not.i.i = or i1 %cmp9.i.i, %cmp8.i.i
  br i1 %or.cond.not.i.i, label %if.end11.i.i, label %if.then8

if.end11.i.i:                                     ; preds = %cond.end.i.i
  br i1 %cmp9.i.i, label %cond.end19.i.i, label %cond.false14.i.i

cond.false14.i.i:                                 ; preds = %if.end11.i.i
  %66 = load ptr, ptr %strides.i.i.i.i226, align 8
  %arrayidx18.i.i = getelementptr inbounds i64, ptr %66, i64 %indvars.iv.next.i.i239
  %67 = load i64, ptr %arrayidx18.i.i, align 8
  br label %cond.end19.i.i

cond.end19.i.i:                                   ; preds = %cond.false14.i.i, %if.end11.i.i, %for.body.i.i237
  %cond20.i.i = phi i64 [ %67, %cond.false14.i.i ], [ 0, %if.end11.i.i ], [ 0, %for.body.i.i237 ]
  %arrayidx22.i.i = getelementptr inbounds [6 x i64], ptr %of_g.i, i64 0, i64 %indvars.iv.next.i.i239
  store i64 %cond20.i.i, ptr %arrayidx22.i.i, align 8
  %cmp2.i.i = icmp ult i64 %indvars.iv.i.i238, 2
  br i1 %cmp2.i.i, label %lor.lhs.false, label %for.body.i.i237

land.rhs11.i:                                     ; preds = %land.rhs.i
  %arrayidx13.i = getelementptr inbounds [6 x i64], ptr %lengths.i232, i64 0, i64 %indvars.iv.i
  %68 = load i64, ptr %arrayidx13.i, align 8
  %cmp14.i = icmp eq i64 %68, 1
  br i1 %cmp14.i, label %land.end21.i, label %lor.rhs.i

lor.rhs.i:                                        ; preds = %land.rhs11.i
  %69 = load ptr, ptr %strides.i.i.i.i226, align 8
  %arrayidx18.i = getelementptr inbounds i64, ptr %69, i64 %indvars.iv.i
  %70 = load i64, ptr %arrayidx18.i, align 8
  %cmp19.i = icmp eq i64 %70, 0
  br label %land.end21.i

land.end21.i:                                     ; preds = %lor.rhs.i, %land.rhs11.i, %land.rhs.i
  %71 = phi i1 [ false, %land.rhs.i ], [ true, %land.rhs11.i ], [ %cmp19.i, %lor.rhs.i ]
  %land.ext.i = zext i1 %71 to i32
  store i32 %land.ext.i, ptr %is_flat.i, align 4
  %indvars.iv.next.i = add nuw nsw i64 %indvars.iv.i, 1
  %exitcond.not.i242 = icmp eq i64 %indvars.iv.next.i, %wide.trip.count.i
  br i1 %exitcond.not.i242, label %for.cond.preheader.i.i.split, label %land.rhs.i

lor.lhs.false:                                    ; preds = %cond.end19.i.i, %if.end.i230
  %disturbed = getelementptr inbounds i8, ptr %known, i64 152
  %72 = load ptr, ptr %disturbed, align 8
  %call4 = tail call i64 @PyDict_Size(ptr noundef %72) #11
  %cmp.not = icmp eq i64 %call4, 0
  br i1 %cmp.not, label %lor.lhs.false5, label %if.then8

lor.lhs.false5:                                   ; preds = %lor.lhs.false
  %call6 = tail call i64 @PyTuple_Size(ptr noundef %2) #11
  %73 = load i64, ptr %0, align 8
  %cmp7.not = icmp eq i64 %call6, %73
  br i1 %cmp7.not, label %if.end10, label %if.then8

if.then8:                                         ; preds = %cond.end.i.i.i251, %lor.lhs.false.i.i.i255, %cond.end.i.i, %land.rhs.i.i221, %if.end, %land.lhs.true.i.i213, %land.lhs.true5.i.i216, %size_of.exit.i.i275, %lor.lhs.false5, %lor.lhs.false
  %none = getelementptr inbounds i8, ptr %known, i64 8
  %74 = load ptr, ptr %none, align 8
  tail call void @Py_IncRef(ptr noundef %74) #11
  br label %cleanup127

if.end10:                                         ; preds = %lor.lhs.false5
  %75 = load ptr, ptr %descr.i.i.i210, align 8
  %type_num = getelementptr inbounds i8, ptr %75, i64 28
  %76 = load i32, ptr %type_num, align 4
  %cmp12 = icmp eq i32 %76, 12
  %cond.in.v = select i1 %cmp12, i64 72, i64 64
  %cond.in = getelementptr inbounds i8, ptr %0, i64 %cond.in.v
  %cond = load i64, ptr %cond.in, align 8
  %cond18.in.v = select i1 %cmp12, i64 88, i64 80
  %cond18.in = getelementptr inbounds i8, ptr %0, i64 %cond18.in.v
  %cond18 = load i64, ptr %cond18.in, align 8
  %call19 = tail call ptr @PyTuple_GetItem(ptr noundef %2, i64 noundef 0) #11
  %77 = load i64, ptr %0, align 8
  %cmp21 = icmp eq i64 %77, 2
  br i1 %cmp21, label %cond.true23, label %cond.false25

cond.true23:                                      ; preds = %if.end10
  %call24 = tail call ptr @PyTuple_GetItem(ptr noundef %2, i64 noundef 1) #11
  br label %cond.end27

cond.false25:                                     ; preds = %if.end10
  %none26 = getelementptr inbounds i8, ptr %known, i64 8
  %78 = load ptr, ptr %none26, align 8
  br label %cond.end27

cond.end27:                                       ; preds = %cond.false25, %cond.true23
  %cond28 = phi ptr [ %call24, %cond.true23 ], [ %78, %cond.false25 ]
  %cmp29 = icmp eq i64 %cond, -1
  br i1 %cmp29, label %land.lhs.true, label %lor.lhs.false34

land.lhs.true:                                    ; preds = %cond.end27
  %none31 = getelementptr inbounds i8, ptr %known, i64 8
  %79 = load ptr, ptr %none31, align 8
  %cmp32.not = icmp eq ptr %call19, %79
  br i1 %cmp32.not, label %lor.lhs.false34, label %if.then41

lor.lhs.false34:                                  ; preds = %land.lhs.true, %cond.end27
  %cmp35 = icmp eq i64 %cond18, -1
  br i1 %cmp35, label %land.lhs.true37, label %if.end44

land.lhs.true37:                                  ; preds = %lor.lhs.false34
  %none38 = getelementptr inbounds i8, ptr %known, i64 8
  %80 = load ptr, ptr %none38, align 8
  %cmp39.not = icmp eq ptr %cond28, %80
  br i1 %cmp39.not, label %if.end44, label %if.then41

if.then41:                                        ; preds = %land.lhs.true37, %land.lhs.true
  %81 = phi ptr [ %80, %land.lhs.true37 ], [ %79, %land.lhs.true ]
  tail call void @Py_IncRef(ptr noundef %81) #11
  br label %cleanup127

if.end44:                                         ; preds = %land.lhs.true37, %lor.lhs.false34
  %call45 = call fastcc i32 @read_operand(ptr noundef nonnull %known, ptr noundef %node, ptr noundef nonnull %0, i32 noundef 0, ptr noundef nonnull %gradient, ptr noundef nonnull %values)
  %tobool46.not = icmp eq i32 %call45, 0
  br i1 %tobool46.not, label %if.then50, label %lor.lhs.false47

lor.lhs.false47:                                  ; preds = %if.end44
  %call48 = call fastcc i32 @read_operand(ptr noundef nonnull %known, ptr noundef %node, ptr noundef nonnull %0, i32 noundef 1, ptr noundef nonnull %gradient, ptr noundef nonnull %values)
  %tobool49.not = icmp eq i32 %call48, 0
  br i1 %tobool49.not, label %if.then50, label %if.end53

if.then50:                                        ; preds = %lor.lhs.false47, %if.end44
  %none51 = getelementptr inbounds i8, ptr %known, i64 8
  %82 = load ptr, ptr %none51, align 8
  call void @Py_IncRef(ptr noundef %82) #11
  br label %cleanup127

if.end53:                                         ; preds = %lor.lhs.false47
  %out_data = getelementptr inbounds i8, ptr %0, i64 56
  %83 = load i64, ptr %out_data, align 8
  %cmp54.not = icmp eq i64 %83, 0
  br i1 %cmp54.not, label %if.end79, label %if.then56

if.then56:                                        ; preds = %if.end53
  %add.ptr58 = getelementptr inbounds i8, ptr %node, i64 %83
  %84 = load ptr, ptr %add.ptr58, align 8
  %not_saved = getelementptr inbounds i8, ptr %known, i64 176
  %85 = load ptr, ptr %not_saved, align 8
  %cmp59.not = icmp eq ptr %84, %85
  br i1 %cmp59.not, label %if.end79, label %if.then61

if.then61:                                        ; preds = %if.then56
  call void @llvm.lifetime.start.p0(i64 48, ptr nonnull %steps) #11
  %call62 = call fastcc i32 @is_like(ptr noundef nonnull %gradient, ptr noundef %84, ptr noundef nonnull %values, ptr noundef nonnull %steps)
  %tobool63.not = icmp eq i32 %call62, 0
  br i1 %tobool63.not, label %cleanup76, label %lor.lhs.false64

lor.lhs.false64:                                  ; preds = %if.then61
  %flags.i.i = getelementptr inbounds i8, ptr %84, i64 64
  %86 = load i32, ptr %flags.i.i, align 8
  %and.i = and i32 %86, 1
  %tobool66.not = icmp eq i32 %and.i, 0
  br i1 %tobool66.not, label %cleanup76, label %lor.lhs.false67

lor.lhs.false67:                                  ; preds = %lor.lhs.false64
  %call68 = call fastcc i32 @is_of_shape(ptr noundef nonnull %84, ptr noundef nonnull %values)
  %tobool69.not = icmp eq i32 %call68, 0
  br i1 %tobool69.not, label %cleanup76, label %cleanup76.thread291

cleanup76.thread291:                              ; preds = %lor.lhs.false67
  %data.i277 = getelementptr inbounds i8, ptr %84, i64 16
  %87 = load ptr, ptr %data.i277, align 8
  %arrayidx = getelementptr inbounds i8, ptr %values, i64 24
  store ptr %87, ptr %arrayidx, align 8
  call void @llvm.lifetime.end.p0(i64 48, ptr nonnull %steps) #11
  br label %if.end79

cleanup76:                                        ; preds = %if.then61, %lor.lhs.false64, %lor.lhs.false67
  %none71 = getelementptr inbounds i8, ptr %known, i64 8
  %88 = load ptr, ptr %none71, align 8
  call void @Py_IncRef(ptr noundef %88) #11
  call void @llvm.lifetime.end.p0(i64 48, ptr nonnull %steps) #11
  br label %cleanup127

if.end79:                                         ; preds = %if.then56, %cleanup76.thread291, %if.end53
  call fastcc void @find_way(ptr noundef nonnull %gradient, ptr noundef nonnull %values)
  %89 = alloca [24576 x i8], align 64
  br label %for.body.i278

for.body.i278:                                    ; preds = %for.body.i278, %if.end79
  %indvars.iv.i279 = phi i64 [ 0, %if.end79 ], [ %indvars.iv.next.i282, %for.body.i278 ]
  %90 = shl nuw nsw i64 %indvars.iv.i279, 12
  %add.ptr.i280 = getelementptr inbounds i8, ptr %89, i64 %90
  %91 = add nuw nsw i64 %indvars.iv.i279, 4
  %arrayidx.i281 = getelementptr inbounds [10 x ptr], ptr %values, i64 0, i64 %91
  store ptr %add.ptr.i280, ptr %arrayidx.i281, align 8
  %indvars.iv.next.i282 = add nuw nsw i64 %indvars.iv.i279, 1
  %exitcond.not.i283 = icmp eq i64 %indvars.iv.next.i282, 6
  br i1 %exitcond.not.i283, label %give_room.exit, label %for.body.i278

give_room.exit:                                   ; preds = %for.body.i278
  %92 = load i64, ptr %0, align 8
  %call81 = call ptr @PyTuple_New(i64 noundef %92) #11
  %cmp82 = icmp eq ptr %call81, null
  br i1 %cmp82, label %if.then107, label %cond.end87

cond.end87:                                       ; preds = %give_room.exit
  %call86 = call fastcc ptr @pulled(ptr noundef %known, ptr noundef nonnull %0, ptr noundef %node, ptr noundef %call19, i64 noundef %cond, ptr noundef %gradient, ptr noundef nonnull %values)
  %cmp89.not = icmp eq ptr %call86, null
  br i1 %cmp89.not, label %if.then107, label %land.lhs.true91

land.lhs.true91:                                  ; preds = %cond.end87
  %93 = load i64, ptr %0, align 8
  %cmp93 = icmp eq i64 %93, 2
  br i1 %cmp93, label %lor.lhs.false100, label %if.end108.thread

lor.lhs.false100:                                 ; preds = %land.lhs.true91
  %call96 = call fastcc ptr @pulled(ptr noundef %known, ptr noundef nonnull %0, ptr noundef %node, ptr noundef %cond28, i64 noundef %cond18, ptr noundef %gradient, ptr noundef nonnull %values)
  %cmp101 = icmp eq ptr %call96, null
  br i1 %cmp101, label %land.lhs.true103, label %if.then112

land.lhs.true103:                                 ; preds = %lor.lhs.false100
  %.pr = load i64, ptr %0, align 8
  %cmp105 = icmp eq i64 %.pr, 2
  br i1 %cmp105, label %if.then107, label %if.end108.thread

if.then107:                                       ; preds = %give_room.exit, %cond.end87, %land.lhs.true103
  %cond88296301 = phi ptr [ %call86, %land.lhs.true103 ], [ null, %cond.end87 ], [ null, %give_room.exit ]
  call void @Py_DecRef(ptr noundef %call81) #11
  call void @Py_DecRef(ptr noundef %cond88296301) #11
  br label %cleanup127

if.end108.thread:                                 ; preds = %land.lhs.true103, %land.lhs.true91
  %call109318 = call i32 @PyTuple_SetItem(ptr noundef nonnull %call81, i64 noundef 0, ptr noundef nonnull %call86) #11
  br label %if.end114

if.then112:                                       ; preds = %lor.lhs.false100
  %call109 = call i32 @PyTuple_SetItem(ptr noundef nonnull %call81, i64 noundef 0, ptr noundef nonnull %call86) #11
  %call113 = call i32 @PyTuple_SetItem(ptr noundef nonnull %call81, i64 noundef 1, ptr noundef nonnull %call96) #11
  br label %if.end114

if.end114:                                        ; preds = %if.end108.thread, %if.then112
  %tobool115.not = icmp eq i32 %keep, 0
  br i1 %tobool115.not, label %if.then116, label %cleanup127

if.then116:                                       ; preds = %if.end114
  %x_data = getelementptr inbounds i8, ptr %0, i64 24
  %94 = load i64, ptr %x_data, align 8
  %x_epoch = getelementptr inbounds i8, ptr %0, i64 32
  %95 = load i64, ptr %x_epoch, align 8
  call fastcc void @release(ptr noundef %known, ptr noundef %node, i64 noundef %94, i64 noundef %95)
  %y_data = getelementptr inbounds i8, ptr %0, i64 40
  %96 = load i64, ptr %y_data, align 8
  %y_epoch = getelementptr inbounds i8, ptr %0, i64 48
  %97 = load i64, ptr %y_epoch, align 8
  call fastcc void @release(ptr noundef %known, ptr noundef %node, i64 noundef %96, i64 noundef %97)
  %98 = load i64, ptr %out_data, align 8
  call fastcc void @release(ptr noundef %known, ptr noundef %node, i64 noundef %98, i64 noundef 0)
  br label %cleanup127

cleanup127:                                       ; preds = %cleanup76, %if.then41, %if.then50, %if.end114, %if.then116, %if.then107, %if.then8, %pull_sum.exit
  %retval.5 = phi ptr [ %retval.2.i, %pull_sum.exit ], [ %74, %if.then8 ], [ %81, %if.then41 ], [ %88, %cleanup76 ], [ %82, %if.then50 ], [ null, %if.then107 ], [ %call81, %if.then116 ], [ %call81, %if.end114 ]
  call void @llvm.lifetime.end.p0(i64 408, ptr nonnull %values) #11
  ret ptr %retval.5
}

declare ptr @PyObject_VectorcallMethod(ptr noundef, ptr noundef, i64 noundef, ptr noundef) local_unnamed_addr #2

declare i32 @PyDict_Contains(ptr noundef, ptr noundef) local_unnamed_addr #2

declare i32 @PySet_Contains(ptr noundef, ptr noundef) local_unnamed_addr #2

declare i64 @PyDict_Size(ptr noundef) local_unnamed_addr #2

define internal fastcc range(i32 0, 2) i32 @read_operand(ptr nocapture noundef readonly %known, ptr nocapture noundef readonly %node, ptr nocapture noundef readonly %formula, i32 noundef %which, ptr nocapture noundef readonly %gradient, ptr noundef %values) unnamed_addr #0 {
entry:
  %cmp = icmp eq i32 %which, 0
  %cond.in.v = select i1 %cmp, i64 24, i64 40
  %cond.in = getelementptr inbounds i8, ptr %formula, i64 %cond.in.v
  %cond = load i64, ptr %cond.in, align 8
  %cmp1 = icmp eq i64 %cond, 0
  br i1 %cmp1, label %cleanup86, label %if.end

if.end:                                           ; preds = %entry
  %add.ptr = getelementptr inbounds i8, ptr %node, i64 %cond
  %0 = load ptr, ptr %add.ptr, align 8
  %cond6.in.v = select i1 %cmp, i64 32, i64 48
  %cond6.in = getelementptr inbounds i8, ptr %formula, i64 %cond6.in.v
  %cond6 = load i64, ptr %cond6.in, align 8
  %add.ptr7 = getelementptr inbounds i8, ptr %node, i64 %cond6
  %1 = load ptr, ptr %add.ptr7, align 8
  %descr.i = getelementptr inbounds i8, ptr %gradient, i64 56
  %2 = load ptr, ptr %descr.i, align 8
  %type_num = getelementptr inbounds i8, ptr %2, i64 28
  %3 = load i32, ptr %type_num, align 4
  %unwritten = getelementptr inbounds i8, ptr %known, i64 168
  %4 = load ptr, ptr %unwritten, align 8
  %cmp8.not = icmp eq ptr %1, %4
  br i1 %cmp8.not, label %if.else, label %if.then9

if.then9:                                         ; preds = %if.end
  %none = getelementptr inbounds i8, ptr %known, i64 8
  %5 = load ptr, ptr %none, align 8
  %cmp10.not = icmp eq ptr %1, %5
  br i1 %cmp10.not, label %lor.lhs.false, label %land.lhs.true

land.lhs.true:                                    ; preds = %if.then9
  %next_of_epoch = getelementptr inbounds i8, ptr %known, i64 184
  %6 = load i64, ptr %next_of_epoch, align 8
  %add.ptr11 = getelementptr inbounds i8, ptr %1, i64 %6
  %7 = load ptr, ptr %add.ptr11, align 8
  %cmp13.not = icmp eq ptr %7, %5
  br i1 %cmp13.not, label %lor.lhs.false, label %cleanup86

lor.lhs.false:                                    ; preds = %land.lhs.true, %if.then9
  %cond18.v = select i1 %cmp, i64 288, i64 336
  %cond18 = getelementptr inbounds i8, ptr %values, i64 %cond18.v
  %call19 = tail call fastcc i32 @is_like(ptr noundef nonnull %gradient, ptr noundef %0, ptr noundef %values, ptr noundef nonnull %cond18)
  %tobool.not = icmp eq i32 %call19, 0
  br i1 %tobool.not, label %cleanup86, label %if.end21

if.end21:                                         ; preds = %lor.lhs.false
  %cond26.v = select i1 %cmp, i64 88, i64 92
  %cond26 = getelementptr inbounds i8, ptr %values, i64 %cond26.v
  store i32 1, ptr %cond26, align 4
  %data.i = getelementptr inbounds i8, ptr %0, i64 16
  %8 = load ptr, ptr %data.i, align 8
  %add = add nuw nsw i32 %which, 1
  %idxprom = zext nneg i32 %add to i64
  %arrayidx = getelementptr inbounds [10 x ptr], ptr %values, i64 0, i64 %idxprom
  store ptr %8, ptr %arrayidx, align 8
  br label %if.end82

if.else:                                          ; preds = %if.end
  %ob_type.i.i = getelementptr inbounds i8, ptr %0, i64 8
  %9 = load ptr, ptr %ob_type.i.i, align 8
  %10 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx.i = getelementptr inbounds i8, ptr %10, i64 16
  %11 = load ptr, ptr %arrayidx.i, align 8
  %cmp.i.not = icmp eq ptr %9, %11
  br i1 %cmp.i.not, label %if.then30, label %if.else44

if.then30:                                        ; preds = %if.else
  %nd.i = getelementptr inbounds i8, ptr %0, i64 24
  %12 = load i32, ptr %nd.i, align 8
  %cmp32.not = icmp eq i32 %12, 0
  br i1 %cmp32.not, label %lor.lhs.false33, label %cleanup86

lor.lhs.false33:                                  ; preds = %if.then30
  %descr.i135 = getelementptr inbounds i8, ptr %0, i64 56
  %13 = load ptr, ptr %descr.i135, align 8
  %type_num35 = getelementptr inbounds i8, ptr %13, i64 28
  %14 = load i32, ptr %type_num35, align 4
  %cmp36.not = icmp eq i32 %14, %3
  br i1 %cmp36.not, label %if.end38, label %cleanup86

if.end38:                                         ; preds = %lor.lhs.false33
  %data.i136 = getelementptr inbounds i8, ptr %0, i64 16
  %15 = load ptr, ptr %data.i136, align 8
  %add41 = add nuw nsw i32 %which, 1
  %idxprom42 = zext nneg i32 %add41 to i64
  %arrayidx43 = getelementptr inbounds [10 x ptr], ptr %values, i64 0, i64 %idxprom42
  store ptr %15, ptr %arrayidx43, align 8
  br label %if.end82

if.else44:                                        ; preds = %if.else
  %cmp.i138.not = icmp eq ptr %9, @PyFloat_Type
  br i1 %cmp.i138.not, label %if.then47, label %if.else74

if.then47:                                        ; preds = %if.else44
  %call48 = tail call double @PyFloat_AsDouble(ptr noundef nonnull %0) #11
  %wide = getelementptr inbounds i8, ptr %values, i64 384
  %idxprom49 = zext nneg i32 %which to i64
  %arrayidx50 = getelementptr inbounds [2 x double], ptr %wide, i64 0, i64 %idxprom49
  store double %call48, ptr %arrayidx50, align 8
  %conv = fptrunc double %call48 to float
  %narrow = getelementptr inbounds i8, ptr %values, i64 400
  %arrayidx55 = getelementptr inbounds [2 x float], ptr %narrow, i64 0, i64 %idxprom49
  store float %conv, ptr %arrayidx55, align 4
  %add60 = add nuw nsw i32 %which, 1
  %idxprom61 = zext nneg i32 %add60 to i64
  %arrayidx62 = getelementptr inbounds [10 x ptr], ptr %values, i64 0, i64 %idxprom61
  %cmp63 = icmp eq i32 %3, 12
  %spec.store.select = select i1 %cmp63, ptr %arrayidx50, ptr %arrayidx55
  store ptr %spec.store.select, ptr %arrayidx62, align 8
  br label %if.end82

if.else74:                                        ; preds = %if.else44
  %none75 = getelementptr inbounds i8, ptr %known, i64 8
  %16 = load ptr, ptr %none75, align 8
  %cmp76.not = icmp eq ptr %0, %16
  br i1 %cmp76.not, label %if.end82, label %cleanup86

if.end82:                                         ; preds = %if.then47, %if.end38, %if.else74, %if.end21
  br label %cleanup86

cleanup86:                                        ; preds = %if.end82, %lor.lhs.false, %land.lhs.true, %if.then30, %lor.lhs.false33, %if.else74, %entry
  %retval.2 = phi i32 [ 1, %entry ], [ 1, %if.end82 ], [ 0, %lor.lhs.false ], [ 0, %land.lhs.true ], [ 0, %if.then30 ], [ 0, %lor.lhs.false33 ], [ 0, %if.else74 ]
  ret i32 %retval.2
}

define internal fastcc noundef i32 @is_like(ptr nocapture noundef readonly %gradient, ptr nocapture noundef readonly %object, ptr nocapture noundef %values, ptr nocapture noundef writeonly %steps) unnamed_addr #7 {
entry:
  %ob_type.i.i = getelementptr inbounds i8, ptr %object, i64 8
  %0 = load ptr, ptr %ob_type.i.i, align 8
  %1 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx.i = getelementptr inbounds i8, ptr %1, i64 16
  %2 = load ptr, ptr %arrayidx.i, align 8
  %cmp.i.not = icmp eq ptr %0, %2
  br i1 %cmp.i.not, label %lor.lhs.false, label %cleanup

lor.lhs.false:                                    ; preds = %entry
  %descr.i.i = getelementptr inbounds i8, ptr %object, i64 56
  %3 = load ptr, ptr %descr.i.i, align 8
  %type_num.i = getelementptr inbounds i8, ptr %3, i64 28
  %4 = load i32, ptr %type_num.i, align 4
  %5 = add i32 %4, -11
  %or.cond.i = icmp ult i32 %5, 2
  br i1 %or.cond.i, label %land.lhs.true.i, label %cleanup

land.lhs.true.i:                                  ; preds = %lor.lhs.false
  %byteorder.i = getelementptr inbounds i8, ptr %3, i64 26
  %6 = load i8, ptr %byteorder.i, align 2
  %cmp3.not.i = icmp eq i8 %6, 62
  br i1 %cmp3.not.i, label %cleanup, label %land.lhs.true5.i

land.lhs.true5.i:                                 ; preds = %land.lhs.true.i
  %nd.i.i = getelementptr inbounds i8, ptr %object, i64 24
  %7 = load i32, ptr %nd.i.i, align 8
  %cmp7.i = icmp slt i32 %7, 7
  br i1 %cmp7.i, label %land.lhs.true9.i, label %cleanup

land.lhs.true9.i:                                 ; preds = %land.lhs.true5.i
  %cmp6.i.i = icmp sgt i32 %7, 0
  br i1 %cmp6.i.i, label %for.body.lr.ph.i.i, label %land.rhs.i

for.body.lr.ph.i.i:                               ; preds = %land.lhs.true9.i
  %dimensions.i.i.i = getelementptr inbounds i8, ptr %object, i64 32
  %8 = load ptr, ptr %dimensions.i.i.i, align 8
  %wide.trip.count.i.i = zext nneg i32 %7 to i64
  br label %for.body.i.i

for.body.i.i:                                     ; preds = %for.body.i.i, %for.body.lr.ph.i.i
  %indvars.iv.i.i = phi i64 [ 0, %for.body.lr.ph.i.i ], [ %indvars.iv.next.i.i, %for.body.i.i ]
  %size.07.i.i = phi i64 [ 1, %for.body.lr.ph.i.i ], [ %mul.i.i, %for.body.i.i ]
  %arrayidx.i.i = getelementptr inbounds i64, ptr %8, i64 %indvars.iv.i.i
  %9 = load i64, ptr %arrayidx.i.i, align 8
  %mul.i.i = mul nsw i64 %9, %size.07.i.i
  %indvars.iv.next.i.i = add nuw nsw i64 %indvars.iv.i.i, 1
  %exitcond.not.i.i = icmp eq i64 %indvars.iv.next.i.i, %wide.trip.count.i.i
  br i1 %exitcond.not.i.i, label %size_of.exit.i, label %for.body.i.i

size_of.exit.i:                                   ; preds = %for.body.i.i
  %cmp11.i = icmp slt i64 %mul.i.i, 513
  br i1 %cmp11.i, label %land.rhs.i, label %cleanup

land.rhs.i:                                       ; preds = %size_of.exit.i, %land.lhs.true9.i
  %flags.i.i.i = getelementptr inbounds i8, ptr %object, i64 64
  %10 = load i32, ptr %flags.i.i.i, align 8
  %and.i.i = and i32 %10, 256
  %tobool.not.i.i = icmp eq i32 %and.i.i, 0
  br i1 %tobool.not.i.i, label %cleanup, label %if.end.i.i

if.end.i.i:                                       ; preds = %land.rhs.i
  %strides.i.i.i = getelementptr inbounds i8, ptr %object, i64 40
  %and.i.i.i = and i32 %10, 1
  %tobool3.not.i.i = icmp eq i32 %and.i.i.i, 0
  %or.cond5154.i.i = and i1 %cmp6.i.i, %tobool3.not.i.i
  br i1 %or.cond5154.i.i, label %for.body.lr.ph.i21.i, label %lor.lhs.false3

for.body.lr.ph.i21.i:                             ; preds = %if.end.i.i
  %dimensions.i.i22.i = getelementptr inbounds i8, ptr %object, i64 32
  %11 = load ptr, ptr %dimensions.i.i22.i, align 8
  %12 = zext nneg i32 %7 to i64
  br label %for.body.i23.i

for.body.i23.i:                                   ; preds = %cleanup.i.i, %for.body.lr.ph.i21.i
  %indvars.iv.i24.i = phi i64 [ %12, %for.body.lr.ph.i21.i ], [ %indvars.iv.next.i25.i, %cleanup.i.i ]
  %inner.055.i.i = phi i64 [ 0, %for.body.lr.ph.i21.i ], [ %inner.1.i.i, %cleanup.i.i ]
  %indvars.iv.next.i25.i = add nsw i64 %indvars.iv.i24.i, -1
  %arrayidx.i26.i = getelementptr inbounds i64, ptr %11, i64 %indvars.iv.next.i25.i
  %13 = load i64, ptr %arrayidx.i26.i, align 8
  %cmp5.i.i = icmp eq i64 %13, 1
  br i1 %cmp5.i.i, label %if.end13.thread.i.i, label %cond.end.i.i

cond.end.i.i:                                     ; preds = %for.body.i23.i
  %14 = load ptr, ptr %strides.i.i.i, align 8
  %arrayidx8.i.i = getelementptr inbounds i64, ptr %14, i64 %indvars.iv.next.i25.i
  %15 = load i64, ptr %arrayidx8.i.i, align 8
  %.fr.i.i = freeze i64 %15
  %cmp9.i.i = icmp slt i64 %.fr.i.i, 0
  br i1 %cmp9.i.i, label %cleanup, label %lor.lhs.false.i.i

lor.lhs.false.i.i:                                ; preds = %cond.end.i.i
  %cmp10.not.i.i = icmp ne i64 %.fr.i.i, 0
  %cmp11.i.i = icmp slt i64 %.fr.i.i, %inner.055.i.i
  %or.cond.i.i = select i1 %cmp10.not.i.i, i1 %cmp11.i.i, i1 false
  br i1 %or.cond.i.i, label %cleanup, label %if.end13.i.i

if.end13.i.i:                                     ; preds = %lor.lhs.false.i.i
  %cmp14.i.i = icmp eq i64 %.fr.i.i, 0
  br i1 %cmp14.i.i, label %if.end13.thread.i.i, label %cleanup.i.i

if.end13.thread.i.i:                              ; preds = %if.end13.i.i, %for.body.i23.i
  br label %cleanup.i.i

cleanup.i.i:                                      ; preds = %if.end13.thread.i.i, %if.end13.i.i
  %inner.1.i.i = phi i64 [ %inner.055.i.i, %if.end13.thread.i.i ], [ %.fr.i.i, %if.end13.i.i ]
  %cmp.i.i = icmp ugt i64 %indvars.iv.i24.i, 1
  br i1 %cmp.i.i, label %for.body.i23.i, label %lor.lhs.false3

lor.lhs.false3:                                   ; preds = %cleanup.i.i, %if.end.i.i
  %descr.i23 = getelementptr inbounds i8, ptr %gradient, i64 56
  %16 = load ptr, ptr %descr.i23, align 8
  %type_num6 = getelementptr inbounds i8, ptr %16, i64 28
  %17 = load i32, ptr %type_num6, align 4
  %cmp.not = icmp eq i32 %4, %17
  br i1 %cmp.not, label %if.end, label %cleanup

if.end:                                           ; preds = %lor.lhs.false3
  %is_flat = getelementptr inbounds i8, ptr %values, i64 84
  %18 = load i32, ptr %is_flat, align 4
  %tobool7.not = icmp eq i32 %18, 0
  %brmerge = or i1 %tobool7.not, %tobool3.not.i.i
  br i1 %brmerge, label %land.end, label %land.rhs

land.rhs:                                         ; preds = %if.end
  %ndim.i = getelementptr inbounds i8, ptr %values, i64 80
  %19 = load i32, ptr %ndim.i, align 8
  %cmp.i25 = icmp eq i32 %7, %19
  br i1 %cmp.i25, label %land.rhs.i27, label %land.end

land.rhs.i27:                                     ; preds = %land.rhs
  %dimensions.i.i = getelementptr inbounds i8, ptr %object, i64 32
  %20 = load ptr, ptr %dimensions.i.i, align 8
  %lengths.i = getelementptr inbounds i8, ptr %values, i64 96
  %conv.i28 = sext i32 %7 to i64
  %mul.i = shl nsw i64 %conv.i28, 3
  %bcmp.i = tail call i32 @bcmp(ptr %20, ptr nonnull readonly %lengths.i, i64 %mul.i)
  %cmp4.i = icmp eq i32 %bcmp.i, 0
  %21 = zext i1 %cmp4.i to i32
  br label %land.end

land.end:                                         ; preds = %if.end, %land.rhs.i27, %land.rhs
  %land.ext = phi i32 [ 0, %if.end ], [ 0, %land.rhs ], [ %21, %land.rhs.i27 ]
  store i32 %land.ext, ptr %is_flat, align 4
  %ndim = getelementptr inbounds i8, ptr %values, i64 80
  %22 = load i32, ptr %ndim, align 8
  %lengths = getelementptr inbounds i8, ptr %values, i64 96
  %23 = load i32, ptr %nd.i.i, align 8
  %sub.i = sub nsw i32 %22, %23
  %cmp.i30 = icmp slt i32 %sub.i, 0
  br i1 %cmp.i30, label %cleanup, label %for.cond.preheader.i

for.cond.preheader.i:                             ; preds = %land.end
  %cmp255.i = icmp slt i32 %22, 1
  br i1 %cmp255.i, label %cleanup, label %for.body.lr.ph.i

for.body.lr.ph.i:                                 ; preds = %for.cond.preheader.i
  %dimensions.i.i31 = getelementptr inbounds i8, ptr %object, i64 32
  %24 = zext nneg i32 %22 to i64
  %25 = zext nneg i32 %sub.i to i64
  br label %for.body.i

for.body.i:                                       ; preds = %cond.end19.i, %for.body.lr.ph.i
  %indvars.iv.i = phi i64 [ %24, %for.body.lr.ph.i ], [ %indvars.iv.next.i, %cond.end19.i ]
  %indvars.iv.next.i = add nsw i64 %indvars.iv.i, -1
  %cmp3.not.i32 = icmp sgt i64 %indvars.iv.i, %25
  br i1 %cmp3.not.i32, label %cond.end.i, label %cond.end19.i

cond.end.i:                                       ; preds = %for.body.i
  %26 = load ptr, ptr %dimensions.i.i31, align 8
  %27 = sub nsw i64 %indvars.iv.next.i, %25
  %arrayidx.i33 = getelementptr inbounds i64, ptr %26, i64 %27
  %28 = load i64, ptr %arrayidx.i33, align 8
  %arrayidx7.i = getelementptr inbounds i64, ptr %lengths, i64 %indvars.iv.next.i
  %29 = load i64, ptr %arrayidx7.i, align 8
  %cmp8.i = icmp eq i64 %28, %29
  %cmp9.i = icmp eq i64 %28, 1
  %or.cond.not.i = or i1 %cmp9.i, %cmp8.i
  br i1 %or.cond.not.i, label %if.end11.i, label %cleanup

if.end11.i:                                       ; preds = %cond.end.i
  br i1 %cmp9.i, label %cond.end19.i, label %cond.false14.i

cond.false14.i:                                   ; preds = %if.end11.i
  %30 = load ptr, ptr %strides.i.i.i, align 8
  %arrayidx18.i = getelementptr inbounds i64, ptr %30, i64 %27
  %31 = load i64, ptr %arrayidx18.i, align 8
  br label %cond.end19.i

cond.end19.i:                                     ; preds = %cond.false14.i, %if.end11.i, %for.body.i
  %cond20.i = phi i64 [ %31, %cond.false14.i ], [ 0, %if.end11.i ], [ 0, %for.body.i ]
  %arrayidx22.i = getelementptr inbounds [6 x i64], ptr %steps, i64 0, i64 %indvars.iv.next.i
  store i64 %cond20.i, ptr %arrayidx22.i, align 8
  %cmp2.i = icmp ult i64 %indvars.iv.i, 2
  br i1 %cmp2.i, label %cleanup, label %for.body.i

cleanup:                                          ; preds = %cond.end.i.i, %lor.lhs.false.i.i, %cond.end19.i, %cond.end.i, %land.rhs.i, %lor.lhs.false, %land.lhs.true.i, %land.lhs.true5.i, %size_of.exit.i, %for.cond.preheader.i, %land.end, %entry, %lor.lhs.false3
  %retval.0 = phi i32 [ 0, %lor.lhs.false3 ], [ 0, %entry ], [ 0, %land.end ], [ 1, %for.cond.preheader.i ], [ 0, %size_of.exit.i ], [ 0, %land.lhs.true5.i ], [ 0, %land.lhs.true.i ], [ 0, %lor.lhs.false ], [ 0, %land.rhs.i ], [ 1, %cond.end19.i ], [ 0, %cond.end.i ], [ 0, %lor.lhs.false.i.i ], [ 0, %cond.end.i.i ]
  ret i32 %retval.0
}

define internal fastcc range(i32 0, 2) i32 @is_of_shape(ptr nocapture noundef readonly %array, ptr nocapture noundef readonly %values) unnamed_addr #8 {
entry:
  %nd.i = getelementptr inbounds i8, ptr %array, i64 24
  %0 = load i32, ptr %nd.i, align 8
  %ndim = getelementptr inbounds i8, ptr %values, i64 80
  %1 = load i32, ptr %ndim, align 8
  %cmp = icmp eq i32 %0, %1
  br i1 %cmp, label %land.rhs, label %land.end

land.rhs:                                         ; preds = %entry
  %dimensions.i = getelementptr inbounds i8, ptr %array, i64 32
  %2 = load ptr, ptr %dimensions.i, align 8
  %lengths = getelementptr inbounds i8, ptr %values, i64 96
  %conv = sext i32 %0 to i64
  %mul = shl nsw i64 %conv, 3
  %bcmp = tail call i32 @bcmp(ptr %2, ptr nonnull %lengths, i64 %mul)
  %cmp4 = icmp eq i32 %bcmp, 0
  %3 = zext i1 %cmp4 to i32
  br label %land.end

land.end:                                         ; preds = %land.rhs, %entry
  %land.ext = phi i32 [ 0, %entry ], [ %3, %land.rhs ]
  ret i32 %land.ext
}

define internal fastcc void @find_way(ptr nocapture noundef readonly %gradient, ptr nocapture noundef %values) unnamed_addr #9 {
entry:
  %descr.i = getelementptr inbounds i8, ptr %gradient, i64 56
  %0 = load ptr, ptr %descr.i, align 8
  %type_num = getelementptr inbounds i8, ptr %0, i64 28
  %1 = load i32, ptr %type_num, align 4
  %cmp = icmp eq i32 %1, 12
  %cond = select i1 %cmp, i64 8, i64 4
  %is_flat = getelementptr inbounds i8, ptr %values, i64 84
  %2 = load i32, ptr %is_flat, align 4
  %tobool.not = icmp eq i32 %2, 0
  br i1 %tobool.not, label %if.then, label %if.end

if.then:                                          ; preds = %entry
  %ndim.i = getelementptr inbounds i8, ptr %values, i64 80
  %3 = load i32, ptr %ndim.i, align 8
  %cmp17.i = icmp sgt i32 %3, 0
  br i1 %cmp17.i, label %for.body.lr.ph.i, label %cleanup

for.body.lr.ph.i:                                 ; preds = %if.then
  %lengths.i = getelementptr inbounds i8, ptr %values, i64 96
  %full.i = getelementptr inbounds i8, ptr %values, i64 144
  %4 = zext nneg i32 %3 to i64
  %5 = select i1 %cmp, i64 3, i64 2
  br label %for.body.i

for.body.i:                                       ; preds = %for.body.i, %for.body.lr.ph.i
  %indvars.iv.i = phi i64 [ %4, %for.body.lr.ph.i ], [ %indvars.iv.next.i, %for.body.i ]
  %size.018.i = phi i64 [ 1, %for.body.lr.ph.i ], [ %mul7.i, %for.body.i ]
  %indvars.iv.next.i = add nsw i64 %indvars.iv.i, -1
  %arrayidx.i = getelementptr inbounds [6 x i64], ptr %lengths.i, i64 0, i64 %indvars.iv.next.i
  %6 = load i64, ptr %arrayidx.i, align 8
  %cmp1.i = icmp eq i64 %6, 1
  %mul.i = shl i64 %size.018.i, %5
  %cond.i = select i1 %cmp1.i, i64 0, i64 %mul.i
  %arrayidx3.i = getelementptr inbounds [6 x i64], ptr %full.i, i64 0, i64 %indvars.iv.next.i
  store i64 %cond.i, ptr %arrayidx3.i, align 8
  %mul7.i = mul nsw i64 %6, %size.018.i
  %cmp.i = icmp ugt i64 %indvars.iv.i, 1
  br i1 %cmp.i, label %for.body.i, label %cleanup

if.end:                                           ; preds = %entry
  %nd.i.i = getelementptr inbounds i8, ptr %gradient, i64 24
  %7 = load i32, ptr %nd.i.i, align 8
  %cmp6.i = icmp sgt i32 %7, 0
  br i1 %cmp6.i, label %for.body.lr.ph.i34, label %size_of.exit.thread

size_of.exit.thread:                              ; preds = %if.end
  %ndim.i4046 = getelementptr inbounds i8, ptr %values, i64 80
  store i32 1, ptr %ndim.i4046, align 8
  %lengths.i4147 = getelementptr inbounds i8, ptr %values, i64 96
  store i64 1, ptr %lengths.i4147, align 8
  br label %10

for.body.lr.ph.i34:                               ; preds = %if.end
  %dimensions.i.i = getelementptr inbounds i8, ptr %gradient, i64 32
  %8 = load ptr, ptr %dimensions.i.i, align 8
  %wide.trip.count.i = zext nneg i32 %7 to i64
  br label %for.body.i35

for.body.i35:                                     ; preds = %for.body.i35, %for.body.lr.ph.i34
  %indvars.iv.i36 = phi i64 [ 0, %for.body.lr.ph.i34 ], [ %indvars.iv.next.i39, %for.body.i35 ]
  %size.07.i = phi i64 [ 1, %for.body.lr.ph.i34 ], [ %mul.i38, %for.body.i35 ]
  %arrayidx.i37 = getelementptr inbounds i64, ptr %8, i64 %indvars.iv.i36
  %9 = load i64, ptr %arrayidx.i37, align 8
  %.fr = freeze i64 %9
  %mul.i38 = mul i64 %.fr, %size.07.i
  %indvars.iv.next.i39 = add nuw nsw i64 %indvars.iv.i36, 1
  %exitcond.not.i = icmp eq i64 %indvars.iv.next.i39, %wide.trip.count.i
  br i1 %exitcond.not.i, label %size_of.exit, label %for.body.i35

size_of.exit:                                     ; preds = %for.body.i35
  %ndim.i40 = getelementptr inbounds i8, ptr %values, i64 80
  store i32 1, ptr %ndim.i40, align 8
  %lengths.i41 = getelementptr inbounds i8, ptr %values, i64 96
  store i64 %mul.i38, ptr %lengths.i41, align 8
  %cmp.i42 = icmp eq i64 %mul.i38, 1
  br i1 %cmp.i42, label %10, label %cond.end

10:                                               ; preds = %size_of.exit.thread, %size_of.exit
  br label %cond.end

cond.end:                                         ; preds = %size_of.exit, %10
  %11 = phi i64 [ 0, %10 ], [ %cond, %size_of.exit ]
  %full.i44 = getelementptr inbounds i8, ptr %values, i64 144
  store i64 %11, ptr %full.i44, align 8
  %of_g = getelementptr inbounds i8, ptr %values, i64 240
  %flags.i.i = getelementptr inbounds i8, ptr %gradient, i64 64
  %12 = load i32, ptr %flags.i.i, align 8
  %and.i = and i32 %12, 1
  %tobool4.not = icmp eq i32 %and.i, 0
  %none = getelementptr inbounds i8, ptr %values, i64 192
  %none.sink = select i1 %tobool4.not, ptr %none, ptr %full.i44
  tail call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(48) %of_g, ptr noundef nonnull align 8 dereferenceable(48) %none.sink, i64 48, i1 false)
  %of_x = getelementptr inbounds i8, ptr %values, i64 288
  %is_x = getelementptr inbounds i8, ptr %values, i64 88
  %13 = load i32, ptr %is_x, align 8
  %tobool5.not = icmp eq i32 %13, 0
  %none9 = getelementptr inbounds i8, ptr %values, i64 192
  %none9.sink = select i1 %tobool5.not, ptr %none9, ptr %full.i44
  tail call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(48) %of_x, ptr noundef nonnull align 8 dereferenceable(48) %none9.sink, i64 48, i1 false)
  %of_y = getelementptr inbounds i8, ptr %values, i64 336
  %is_y = getelementptr inbounds i8, ptr %values, i64 92
  %14 = load i32, ptr %is_y, align 4
  %tobool11.not = icmp eq i32 %14, 0
  %none15 = getelementptr inbounds i8, ptr %values, i64 192
  %full.i44.sink = select i1 %tobool11.not, ptr %none15, ptr %full.i44
  tail call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(48) %of_y, ptr noundef nonnull align 8 dereferenceable(48) %full.i44.sink, i64 48, i1 false)
  br label %cleanup

cleanup:                                          ; preds = %for.body.i, %cond.end, %if.then
  ret void
}

define internal fastcc ptr @pulled(ptr nocapture noundef readonly %known, ptr noundef %formula, ptr nocapture noundef readonly %node, ptr noundef %behind, i64 noundef %begin, ptr noundef %gradient, ptr noundef %values) unnamed_addr #0 {
entry:
  %given = alloca %struct.arguments, align 8
  %none = getelementptr inbounds i8, ptr %known, i64 8
  %0 = load ptr, ptr %none, align 8
  %cmp = icmp eq ptr %0, %behind
  br i1 %cmp, label %if.then, label %if.end

if.then:                                          ; preds = %entry
  tail call void @Py_IncRef(ptr noundef %behind) #11
  br label %return

if.end:                                           ; preds = %entry
  %cmp1 = icmp eq i64 %begin, -2
  br i1 %cmp1, label %cond.end, label %cond.false

cond.false:                                       ; preds = %if.end
  %descr.i.i = getelementptr inbounds i8, ptr %gradient, i64 56
  %1 = load ptr, ptr %descr.i.i, align 8
  tail call void @Py_IncRef(ptr noundef %1) #11
  %2 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx.i = getelementptr inbounds i8, ptr %2, i64 752
  %3 = load ptr, ptr %arrayidx.i, align 8
  %arrayidx1.i = getelementptr inbounds i8, ptr %2, i64 16
  %4 = load ptr, ptr %arrayidx1.i, align 8
  %5 = load ptr, ptr %descr.i.i, align 8
  %nd.i.i = getelementptr inbounds i8, ptr %gradient, i64 24
  %6 = load i32, ptr %nd.i.i, align 8
  %dimensions.i.i = getelementptr inbounds i8, ptr %gradient, i64 32
  %7 = load ptr, ptr %dimensions.i.i, align 8
  %call5.i = tail call ptr %3(ptr noundef %4, ptr noundef %5, i32 noundef %6, ptr noundef %7, ptr noundef null, ptr noundef null, i32 noundef 0, ptr noundef null) #11
  %cmp.not.i = icmp eq ptr %call5.i, null
  br i1 %cmp.not.i, label %return, label %cond.end.thread29

cond.end.thread29:                                ; preds = %cond.false
  %rest.i = getelementptr inbounds i8, ptr %formula, i64 96
  tail call fastcc void @take_steps(ptr noundef nonnull %rest.i, i64 noundef %begin, ptr noundef %values, ptr noundef nonnull %call5.i)
  br label %lor.lhs.false

cond.end:                                         ; preds = %if.end
  tail call void @Py_IncRef(ptr noundef %gradient) #11
  %cmp4 = icmp eq ptr %gradient, null
  br i1 %cmp4, label %return, label %lor.lhs.false

lor.lhs.false:                                    ; preds = %cond.end.thread29, %cond.end
  %cond32 = phi ptr [ %call5.i, %cond.end.thread29 ], [ %gradient, %cond.end ]
  %is_loose = getelementptr inbounds i8, ptr %formula, i64 8
  %8 = load i64, ptr %is_loose, align 8
  %tobool.not = icmp eq i64 %8, 0
  br i1 %tobool.not, label %return, label %lor.lhs.false5

lor.lhs.false5:                                   ; preds = %lor.lhs.false
  %spec_of_node = getelementptr inbounds i8, ptr %known, i64 216
  %9 = load i64, ptr %spec_of_node, align 8
  %add.ptr = getelementptr inbounds i8, ptr %behind, i64 %9
  %10 = load ptr, ptr %add.ptr, align 8
  %add.ptr7 = getelementptr inbounds i8, ptr %node, i64 %9
  %11 = load ptr, ptr %add.ptr7, align 8
  %cmp8 = icmp eq ptr %10, %11
  br i1 %cmp8, label %return, label %if.end10

if.end10:                                         ; preds = %lor.lhs.false5
  call void @llvm.lifetime.start.p0(i64 40, ptr nonnull %given) #11
  store ptr %cond32, ptr %given, align 8
  %arrayinit.element = getelementptr inbounds i8, ptr %given, i64 8
  store ptr %behind, ptr %arrayinit.element, align 8
  %scevgep = getelementptr inbounds i8, ptr %given, i64 16
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(24) %scevgep, i8 0, i64 24, i1 false)
  %fitted12 = getelementptr inbounds i8, ptr %known, i64 128
  %12 = load ptr, ptr %fitted12, align 8
  %call14 = call ptr @PyObject_Vectorcall(ptr noundef %12, ptr noundef nonnull %given, i64 noundef 2, ptr noundef null) #11
  call void @Py_DecRef(ptr noundef nonnull %cond32) #11
  call void @llvm.lifetime.end.p0(i64 40, ptr nonnull %given) #11
  br label %return

return:                                           ; preds = %cond.false, %if.end10, %lor.lhs.false5, %lor.lhs.false, %cond.end, %if.then
  %retval.1 = phi ptr [ %behind, %if.then ], [ %call14, %if.end10 ], [ %cond32, %lor.lhs.false5 ], [ %cond32, %lor.lhs.false ], [ null, %cond.end ], [ null, %cond.false ]
  ret ptr %retval.1
}

define internal fastcc void @release(ptr nocapture noundef readonly %known, ptr nocapture noundef %node, i64 noundef %data, i64 noundef %epoch) unnamed_addr #0 {
entry:
  %cmp.not = icmp eq i64 %data, 0
  br i1 %cmp.not, label %if.end, label %land.lhs.true

land.lhs.true:                                    ; preds = %entry
  %cmp1 = icmp eq i64 %epoch, 0
  br i1 %cmp1, label %cond.true, label %cond.false

cond.true:                                        ; preds = %land.lhs.true
  %add.ptr = getelementptr inbounds i8, ptr %node, i64 %data
  %0 = load ptr, ptr %add.ptr, align 8
  %not_saved = getelementptr inbounds i8, ptr %known, i64 176
  %1 = load ptr, ptr %not_saved, align 8
  %cmp2.not = icmp eq ptr %0, %1
  br i1 %cmp2.not, label %if.end, label %if.then

cond.false:                                       ; preds = %land.lhs.true
  %add.ptr3 = getelementptr inbounds i8, ptr %node, i64 %epoch
  %2 = load ptr, ptr %add.ptr3, align 8
  %unwritten = getelementptr inbounds i8, ptr %known, i64 168
  %3 = load ptr, ptr %unwritten, align 8
  %cmp4.not = icmp eq ptr %2, %3
  br i1 %cmp4.not, label %if.end, label %if.then

if.then:                                          ; preds = %cond.false, %cond.true
  %add.ptr5 = getelementptr inbounds i8, ptr %node, i64 %data
  %none = getelementptr inbounds i8, ptr %known, i64 8
  %4 = load ptr, ptr %none, align 8
  tail call void @Py_IncRef(ptr noundef %4) #11
  %5 = load ptr, ptr %add.ptr5, align 8
  store ptr %4, ptr %add.ptr5, align 8
  tail call void @Py_DecRef(ptr noundef %5) #11
  br label %if.end

if.end:                                           ; preds = %if.then, %cond.false, %cond.true, %entry
  ret void
}

declare i64 @PyLong_AsSsize_t(ptr noundef) local_unnamed_addr #2

define internal fastcc void @take_steps(ptr noundef %rest, i64 noundef %begin, ptr noundef %values, ptr nocapture noundef readonly %out) unnamed_addr #0 {
entry:
  %axes.i = alloca %struct.axes, align 8
  %all = alloca %struct.loop, align 8
  %arrayidx = getelementptr inbounds i64, ptr %rest, i64 %begin
  %0 = load i64, ptr %arrayidx, align 8
  %cmp71 = icmp sgt i64 %0, 0
  br i1 %cmp71, label %for.body.lr.ph, label %for.cond.cleanup

for.body.lr.ph:                                   ; preds = %entry
  %arrayidx1 = getelementptr i8, ptr %arrayidx, i64 8
  %steps = getelementptr inbounds i8, ptr %all, i64 24
  %sub14 = add nsw i64 %0, -1
  %data.i = getelementptr inbounds i8, ptr %out, i64 16
  %full = getelementptr inbounds i8, ptr %values, i64 144
  %ndim = getelementptr inbounds i8, ptr %values, i64 80
  %lengths = getelementptr inbounds i8, ptr %values, i64 96
  %invariant.gep.i = getelementptr i8, ptr %axes.i, i64 -40
  %1 = getelementptr inbounds i8, ptr %axes.i, i64 8
  br label %for.body

for.cond.cleanup:                                 ; preds = %go_through.exit, %entry
  ret void

for.body:                                         ; preds = %for.body.lr.ph, %go_through.exit
  %step.073 = phi ptr [ %arrayidx1, %for.body.lr.ph ], [ %incdec.ptr, %go_through.exit ]
  %k.072 = phi i64 [ 0, %for.body.lr.ph ], [ %inc36, %go_through.exit ]
  call void @llvm.lifetime.start.p0(i64 48, ptr nonnull %all) #11
  %count3 = getelementptr inbounds i8, ptr %step.073, i64 16
  %2 = load i64, ptr %count3, align 8
  %cmp469 = icmp sgt i64 %2, 0
  br i1 %cmp469, label %for.body6.lr.ph, label %for.cond.cleanup5

for.body6.lr.ph:                                  ; preds = %for.body
  %operands = getelementptr inbounds i8, ptr %step.073, i64 24
  br label %for.body6

for.cond.cleanup5:                                ; preds = %cond.end, %for.body
  %cmp15 = icmp eq i64 %k.072, %sub14
  br i1 %cmp15, label %cond.end21, label %cond.false18

for.body6:                                        ; preds = %for.body6.lr.ph, %cond.end
  %i.070 = phi i64 [ 0, %for.body6.lr.ph ], [ %inc, %cond.end ]
  %arrayidx7 = getelementptr inbounds [2 x i64], ptr %operands, i64 0, i64 %i.070
  %3 = load i64, ptr %arrayidx7, align 8
  %cmp8 = icmp slt i64 %3, 0
  br i1 %cmp8, label %cond.true, label %cond.false

cond.true:                                        ; preds = %for.body6
  %sub = xor i64 %3, -1
  %arrayidx9 = getelementptr inbounds i64, ptr %rest, i64 %sub
  br label %cond.end

cond.false:                                       ; preds = %for.body6
  %arrayidx10 = getelementptr inbounds [10 x ptr], ptr %values, i64 0, i64 %3
  %4 = load ptr, ptr %arrayidx10, align 8
  br label %cond.end

cond.end:                                         ; preds = %cond.false, %cond.true
  %cond.v.i = phi i64 [ 192, %cond.true ], [ 144, %cond.false ]
  %cond = phi ptr [ %arrayidx9, %cond.true ], [ %4, %cond.false ]
  %arrayidx11 = getelementptr inbounds [3 x ptr], ptr %all, i64 0, i64 %i.070
  store ptr %cond, ptr %arrayidx11, align 8
  %5 = icmp ult i64 %3, 3
  %switch.idx.mult = mul nsw i64 %3, 48
  %switch.offset = add nsw i64 %switch.idx.mult, 240
  %cond.v.sink.i = select i1 %5, i64 %switch.offset, i64 %cond.v.i
  %cond.i = getelementptr inbounds i8, ptr %values, i64 %cond.v.sink.i
  %arrayidx13 = getelementptr inbounds [3 x ptr], ptr %steps, i64 0, i64 %i.070
  store ptr %cond.i, ptr %arrayidx13, align 8
  %inc = add nuw nsw i64 %i.070, 1
  %exitcond.not = icmp eq i64 %inc, %2
  br i1 %exitcond.not, label %for.cond.cleanup5, label %for.body6

cond.false18:                                     ; preds = %for.cond.cleanup5
  %result = getelementptr inbounds i8, ptr %step.073, i64 40
  %6 = load i64, ptr %result, align 8
  %arrayidx20 = getelementptr inbounds [10 x ptr], ptr %values, i64 0, i64 %6
  br label %cond.end21

cond.end21:                                       ; preds = %for.cond.cleanup5, %cond.false18
  %cond22.in = phi ptr [ %arrayidx20, %cond.false18 ], [ %data.i, %for.cond.cleanup5 ]
  %cond22 = load ptr, ptr %cond22.in, align 8
  %arrayidx25 = getelementptr inbounds [3 x ptr], ptr %all, i64 0, i64 %2
  store ptr %cond22, ptr %arrayidx25, align 8
  %arrayidx29 = getelementptr inbounds [3 x ptr], ptr %steps, i64 0, i64 %2
  store ptr %full, ptr %arrayidx29, align 8
  %7 = load ptr, ptr %step.073, align 8
  %its = getelementptr inbounds i8, ptr %step.073, i64 8
  %8 = load ptr, ptr %its, align 8
  %conv = trunc i64 %2 to i32
  %add31 = add nsw i32 %conv, 1
  %9 = load i32, ptr %ndim, align 8
  call void @llvm.lifetime.start.p0(i64 240, ptr nonnull %axes.i) #11
  %cmp227.i = icmp slt i32 %9, 1
  br i1 %cmp227.i, label %cond.end21.if.end79.thread.i_crit_edge, label %for.body.lr.ph.i

cond.end21.if.end79.thread.i_crit_edge:           ; preds = %cond.end21
  %.pre78 = zext nneg i32 %add31 to i64
  br label %if.end79.thread.i

for.body.lr.ph.i:                                 ; preds = %cond.end21
  %cmp10222.i = icmp sgt i32 %conv, -1
  %10 = sext i32 %add31 to i64
  %11 = zext nneg i32 %9 to i64
  %wide.trip.count.i = zext nneg i32 %add31 to i64
  br label %for.body.i

for.body.i:                                       ; preds = %for.inc69.i, %for.body.lr.ph.i
  %indvars.iv245.i = phi i64 [ %11, %for.body.lr.ph.i ], [ %indvars.iv.next246.i, %for.inc69.i ]
  %found.0228.i = phi i32 [ 0, %for.body.lr.ph.i ], [ %found.2.i, %for.inc69.i ]
  %indvars.iv.next246.i = add nsw i64 %indvars.iv245.i, -1
  %arrayidx.i = getelementptr inbounds i64, ptr %lengths, i64 %indvars.iv.next246.i
  %12 = load i64, ptr %arrayidx.i, align 8
  switch i64 %12, label %if.end7.i [
    i64 0, label %go_through.exit
    i64 1, label %for.inc69.i
  ]

if.end7.i:                                        ; preds = %for.body.i
  %cmp8.i = icmp sgt i32 %found.0228.i, 0
  %13 = select i1 %cmp10222.i, i1 %cmp8.i, i1 false
  br i1 %13, label %for.body13.lr.ph.i, label %for.cond.cleanup12.i

for.body13.lr.ph.i:                               ; preds = %if.end7.i
  %14 = zext nneg i32 %found.0228.i to i64
  %15 = getelementptr %struct.axis, ptr %axes.i, i64 %14
  %arrayidx22.i = getelementptr i8, ptr %15, i64 -40
  %steps23.i = getelementptr i8, ptr %15, i64 -32
  %16 = load i64, ptr %arrayidx22.i, align 8
  br label %for.body13.i

for.cond.cleanup12.i:                             ; preds = %for.body13.i, %if.end7.i
  %joins.0.in.lcssa.i = phi i1 [ %cmp8.i, %if.end7.i ], [ %cmp29.i, %for.body13.i ]
  %17 = sext i32 %found.0228.i to i64
  br i1 %joins.0.in.lcssa.i, label %if.then32.i, label %if.end40.i

for.body13.i:                                     ; preds = %for.body13.i, %for.body13.lr.ph.i
  %indvars.iv.i = phi i64 [ 0, %for.body13.lr.ph.i ], [ %indvars.iv.next.i, %for.body13.i ]
  %arrayidx16.i = getelementptr inbounds [3 x ptr], ptr %steps, i64 0, i64 %indvars.iv.i
  %18 = load ptr, ptr %arrayidx16.i, align 8
  %arrayidx19.i = getelementptr inbounds [6 x i64], ptr %18, i64 0, i64 %indvars.iv.next246.i
  %19 = load i64, ptr %arrayidx19.i, align 8
  %arrayidx25.i = getelementptr inbounds [3 x i64], ptr %steps23.i, i64 0, i64 %indvars.iv.i
  %20 = load i64, ptr %arrayidx25.i, align 8
  %mul.i = mul nsw i64 %20, %16
  %cmp29.i = icmp eq i64 %19, %mul.i
  %indvars.iv.next.i = add nuw nsw i64 %indvars.iv.i, 1
  %cmp10.i = icmp slt i64 %indvars.iv.next.i, %10
  %21 = select i1 %cmp10.i, i1 %cmp29.i, i1 false
  br i1 %21, label %for.body13.i, label %for.cond.cleanup12.i

if.then32.i:                                      ; preds = %for.cond.cleanup12.i
  %gep.i = getelementptr %struct.axis, ptr %invariant.gep.i, i64 %17
  %22 = load i64, ptr %gep.i, align 8
  %mul39.i = mul nsw i64 %22, %12
  store i64 %mul39.i, ptr %gep.i, align 8
  br label %for.inc69.i

if.end40.i:                                       ; preds = %for.cond.cleanup12.i
  %arrayidx44.i = getelementptr inbounds %struct.axis, ptr %axes.i, i64 %17
  store i64 %12, ptr %arrayidx44.i, align 8
  %at.i = getelementptr inbounds i8, ptr %arrayidx44.i, i64 32
  store i64 0, ptr %at.i, align 8
  br i1 %cmp10222.i, label %for.body53.lr.ph.i, label %for.cond.cleanup52.i

for.body53.lr.ph.i:                               ; preds = %if.end40.i
  %steps62.i = getelementptr inbounds i8, ptr %arrayidx44.i, i64 8
  br label %for.body53.i

for.cond.cleanup52.i:                             ; preds = %for.body53.i, %if.end40.i
  %inc68.i = add nsw i32 %found.0228.i, 1
  br label %for.inc69.i

for.body53.i:                                     ; preds = %for.body53.i, %for.body53.lr.ph.i
  %indvars.iv242.i = phi i64 [ 0, %for.body53.lr.ph.i ], [ %indvars.iv.next243.i, %for.body53.i ]
  %arrayidx56.i = getelementptr inbounds [3 x ptr], ptr %steps, i64 0, i64 %indvars.iv242.i
  %23 = load ptr, ptr %arrayidx56.i, align 8
  %arrayidx59.i = getelementptr inbounds [6 x i64], ptr %23, i64 0, i64 %indvars.iv.next246.i
  %24 = load i64, ptr %arrayidx59.i, align 8
  %arrayidx64.i = getelementptr inbounds [3 x i64], ptr %steps62.i, i64 0, i64 %indvars.iv242.i
  store i64 %24, ptr %arrayidx64.i, align 8
  %indvars.iv.next243.i = add nuw nsw i64 %indvars.iv242.i, 1
  %exitcond.not.i = icmp eq i64 %indvars.iv.next243.i, %wide.trip.count.i
  br i1 %exitcond.not.i, label %for.cond.cleanup52.i, label %for.body53.i

for.inc69.i:                                      ; preds = %for.cond.cleanup52.i, %if.then32.i, %for.body.i
  %found.2.i = phi i32 [ %found.0228.i, %for.body.i ], [ %found.0228.i, %if.then32.i ], [ %inc68.i, %for.cond.cleanup52.i ]
  %cmp.i65 = icmp slt i64 %indvars.iv245.i, 2
  br i1 %cmp.i65, label %for.end72.i, label %for.body.i

for.end72.i:                                      ; preds = %for.inc69.i
  %cmp73.i = icmp eq i32 %found.2.i, 0
  br i1 %cmp73.i, label %if.end79.thread.i, label %if.end79.i

if.end79.thread.i:                                ; preds = %cond.end21.if.end79.thread.i_crit_edge, %for.end72.i
  %.pre.pre-phi = phi i64 [ %.pre78, %cond.end21.if.end79.thread.i_crit_edge ], [ %wide.trip.count.i, %for.end72.i ]
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(40) %1, i8 0, i64 32, i1 false)
  store i64 1, ptr %axes.i, align 8
  br label %for.body85.lr.ph.i

if.end79.i:                                       ; preds = %for.end72.i
  %cmp82239.i = icmp sgt i32 %found.2.i, 0
  br i1 %cmp82239.i, label %for.body85.lr.ph.i, label %go_through.exit

for.body85.lr.ph.i:                               ; preds = %if.end79.i, %if.end79.thread.i
  %wide.trip.count251.i.pre-phi = phi i64 [ %wide.trip.count.i, %if.end79.i ], [ %.pre.pre-phi, %if.end79.thread.i ]
  %found.3267.i = phi i32 [ %found.2.i, %if.end79.i ], [ 1, %if.end79.thread.i ]
  %cmp92235.not.i = icmp eq i32 %found.3267.i, 1
  %cmp97231.i = icmp sgt i32 %conv, -1
  %wide.trip.count261.i = zext nneg i32 %found.3267.i to i64
  br label %for.body85.i

for.body85.i:                                     ; preds = %for.end150.i, %for.body85.lr.ph.i
  call void %7(ptr noundef nonnull %all, ptr noundef nonnull %axes.i, ptr noundef nonnull %1, ptr noundef %8) #11
  br i1 %cmp92235.not.i, label %for.end150.i, label %for.cond96.preheader.i

for.cond96.preheader.i:                           ; preds = %for.body85.i, %for.cond.cleanup130.i
  %indvars.iv258.i = phi i64 [ %indvars.iv.next259.i, %for.cond.cleanup130.i ], [ 1, %for.body85.i ]
  br i1 %cmp97231.i, label %for.body100.i, label %for.cond.cleanup99.i

for.cond.cleanup99.i:                             ; preds = %for.body100.i, %for.cond96.preheader.i
  %arrayidx113.i = getelementptr inbounds %struct.axis, ptr %axes.i, i64 %indvars.iv258.i
  %at114.i = getelementptr inbounds i8, ptr %arrayidx113.i, i64 32
  %25 = load i64, ptr %at114.i, align 8
  %inc115.i = add nsw i64 %25, 1
  store i64 %inc115.i, ptr %at114.i, align 8
  %26 = load i64, ptr %arrayidx113.i, align 8
  %cmp119.i = icmp slt i64 %inc115.i, %26
  br i1 %cmp119.i, label %for.end150.loopexit.i, label %if.end122.i

for.body100.i:                                    ; preds = %for.cond96.preheader.i, %for.body100.i
  %indvars.iv248.i = phi i64 [ %indvars.iv.next249.i, %for.body100.i ], [ 0, %for.cond96.preheader.i ]
  %arrayidx105.i = getelementptr inbounds %struct.axis, ptr %axes.i, i64 %indvars.iv258.i, i32 1, i64 %indvars.iv248.i
  %27 = load i64, ptr %arrayidx105.i, align 8
  %arrayidx107.i = getelementptr inbounds ptr, ptr %all, i64 %indvars.iv248.i
  %28 = load ptr, ptr %arrayidx107.i, align 8
  %add.ptr.i = getelementptr inbounds i8, ptr %28, i64 %27
  store ptr %add.ptr.i, ptr %arrayidx107.i, align 8
  %indvars.iv.next249.i = add nuw nsw i64 %indvars.iv248.i, 1
  %exitcond252.not.i = icmp eq i64 %indvars.iv.next249.i, %wide.trip.count251.i.pre-phi
  br i1 %exitcond252.not.i, label %for.cond.cleanup99.i, label %for.body100.i

if.end122.i:                                      ; preds = %for.cond.cleanup99.i
  store i64 0, ptr %at114.i, align 8
  br i1 %cmp97231.i, label %for.body131.lr.ph.i, label %for.cond.cleanup130.i

for.body131.lr.ph.i:                              ; preds = %if.end122.i
  %steps134.i = getelementptr inbounds i8, ptr %arrayidx113.i, i64 8
  br label %for.body131.i

for.cond.cleanup130.i:                            ; preds = %for.body131.i, %if.end122.i
  %indvars.iv.next259.i = add nuw nsw i64 %indvars.iv258.i, 1
  %exitcond262.not.i = icmp eq i64 %indvars.iv.next259.i, %wide.trip.count261.i
  br i1 %exitcond262.not.i, label %go_through.exit, label %for.cond96.preheader.i

for.body131.i:                                    ; preds = %for.body131.i, %for.body131.lr.ph.i
  %indvars.iv253.i = phi i64 [ 0, %for.body131.lr.ph.i ], [ %indvars.iv.next254.i, %for.body131.i ]
  %arrayidx136.i = getelementptr inbounds [3 x i64], ptr %steps134.i, i64 0, i64 %indvars.iv253.i
  %29 = load i64, ptr %arrayidx136.i, align 8
  %arrayidx142.i = getelementptr inbounds ptr, ptr %all, i64 %indvars.iv253.i
  %30 = load ptr, ptr %arrayidx142.i, align 8
  %31 = mul i64 %26, %29
  %mul140.reass.i = sub i64 0, %31
  %add.ptr143.i = getelementptr inbounds i8, ptr %30, i64 %mul140.reass.i
  store ptr %add.ptr143.i, ptr %arrayidx142.i, align 8
  %indvars.iv.next254.i = add nuw nsw i64 %indvars.iv253.i, 1
  %exitcond257.not.i = icmp eq i64 %indvars.iv.next254.i, %wide.trip.count251.i.pre-phi
  br i1 %exitcond257.not.i, label %for.cond.cleanup130.i, label %for.body131.i

for.end150.loopexit.i:                            ; preds = %for.cond.cleanup99.i
  %32 = trunc nuw nsw i64 %indvars.iv258.i to i32
  br label %for.end150.i

for.end150.i:                                     ; preds = %for.end150.loopexit.i, %for.body85.i
  %k80.1.lcssa.i = phi i32 [ 1, %for.body85.i ], [ %32, %for.end150.loopexit.i ]
  %cmp82.i = icmp slt i32 %k80.1.lcssa.i, %found.3267.i
  br i1 %cmp82.i, label %for.body85.i, label %go_through.exit

go_through.exit:                                  ; preds = %for.body.i, %for.end150.i, %for.cond.cleanup130.i, %if.end79.i
  call void @llvm.lifetime.end.p0(i64 240, ptr nonnull %axes.i) #11
  call void @llvm.lifetime.end.p0(i64 48, ptr nonnull %all) #11
  %inc36 = add nuw nsw i64 %k.072, 1
  %incdec.ptr = getelementptr inbounds i8, ptr %step.073, i64 48
  %exitcond77.not = icmp eq i64 %inc36, %0
  br i1 %exitcond77.not, label %for.cond.cleanup, label %for.body
}

declare double @PyFloat_AsDouble(ptr noundef) local_unnamed_addr #2

declare i32 @bcmp(ptr nocapture, ptr nocapture, i64) local_unnamed_addr #10

attributes #0 = { nounwind }
attributes #1 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { nounwind }
attributes #3 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #4 = { mustprogress nounwind willreturn allockind("free") memory(argmem: readwrite, inaccessiblemem: readwrite) }
attributes #5 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite) }
attributes #6 = { mustprogress nounwind willreturn allockind("realloc") allocsize(1) memory(argmem: readwrite, inaccessiblemem: readwrite) }
attributes #7 = { nofree nounwind memory(read, argmem: readwrite, inaccessiblemem: none) }
attributes #8 = { mustprogress nofree nounwind willreturn memory(read, inaccessiblemem: none) }
attributes #9 = { nofree norecurse nosync nounwind memory(readwrite, inaccessiblemem: none) }
attributes #10 = { nofree nounwind willreturn memory(argmem: read) }
attributes #11 = { nounwind }
attributes #12 = { nounwind allocsize(1) }
