; Made from c/entry.c by `make native`.

%struct.anon = type { i64, ptr }

@pullback_numpy = external local_unnamed_addr global ptr, align 8

define ptr @NAME_entry(ptr nocapture noundef readonly %self, ptr noundef %args, i64 noundef %count) local_unnamed_addr #0 {
entry:
  %data.i = getelementptr inbounds i8, ptr %self, i64 16
  %0 = load ptr, ptr %data.i, align 8
  %code1 = getelementptr inbounds i8, ptr %0, i64 8
  %1 = load ptr, ptr %code1, align 8
  %inputs2 = getelementptr inbounds i8, ptr %0, i64 32
  %2 = load i64, ptr %inputs2, align 8
  %constants3 = getelementptr inbounds i8, ptr %0, i64 40
  %3 = load i64, ptr %constants3, align 8
  %results4 = getelementptr inbounds i8, ptr %0, i64 48
  %4 = load i64, ptr %results4, align 8
  %left = getelementptr inbounds i8, ptr %1, i64 8
  %5 = load i64, ptr %left, align 8
  %dec = add nsw i64 %5, -1
  store i64 %dec, ptr %left, align 8
  %cmp.not = icmp ne i64 %2, %count
  %cmp6 = icmp eq i64 %dec, 0
  %or.cond = select i1 %cmp.not, i1 true, i1 %cmp6
  br i1 %or.cond, label %if.then, label %if.end

if.then:                                          ; preds = %entry
  %6 = load ptr, ptr %0, align 8
  %call7 = tail call ptr @PyObject_Vectorcall(ptr noundef %6, ptr noundef %args, i64 noundef %count, ptr noundef null) #4
  br label %cleanup140

if.end:                                           ; preds = %entry
  %7 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx = getelementptr inbounds i8, ptr %7, i64 16
  %8 = load ptr, ptr %arrayidx, align 8
  %add = add nsw i64 %3, %count
  %add8 = add nsw i64 %add, %4
  %add9 = shl i64 %add8, 3
  %mul = add i64 %add9, 8
  %9 = alloca i8, i64 %mul, align 16
  %rest = getelementptr inbounds i8, ptr %0, i64 96
  %add.ptr = getelementptr inbounds i64, ptr %rest, i64 %3
  %cmp10.not352 = icmp sgt i64 %count, 0
  br i1 %cmp10.not352, label %for.body.preheader, label %for.cond22.preheader

for.body.preheader:                               ; preds = %if.end
  %10 = load ptr, ptr %args, align 8
  %ob_type.i.i404 = getelementptr inbounds i8, ptr %10, i64 8
  %11 = load ptr, ptr %ob_type.i.i404, align 8
  %cmp.not.i405 = icmp eq ptr %11, %8
  br i1 %cmp.not.i405, label %if.end.i, label %if.then14

for.body:                                         ; preds = %if.end17
  %cmp10.not = icmp slt i64 %inc, %count
  %arrayidx11 = getelementptr inbounds ptr, ptr %args, i64 %inc
  %12 = load ptr, ptr %arrayidx11, align 8
  %ob_type.i.i = getelementptr inbounds i8, ptr %12, i64 8
  %13 = load ptr, ptr %ob_type.i.i, align 8
  %cmp.not.i = icmp eq ptr %13, %8
  br i1 %cmp.not.i, label %if.end.i, label %if.then14

if.end.i:                                         ; preds = %for.body.preheader, %for.body
  %14 = phi ptr [ %12, %for.body ], [ %10, %for.body.preheader ]
  %k.0353408 = phi i64 [ %inc, %for.body ], [ 0, %for.body.preheader ]
  %record.0354407 = phi ptr [ %retval.3.i, %for.body ], [ %add.ptr, %for.body.preheader ]
  %cmp10.not355406 = phi i1 [ %cmp10.not, %for.body ], [ true, %for.body.preheader ]
  %ndim1.i = getelementptr inbounds i8, ptr %record.0354407, i64 8
  %15 = load i64, ptr %ndim1.i, align 8
  %nd.i.i = getelementptr inbounds i8, ptr %14, i64 24
  %16 = load i32, ptr %nd.i.i, align 8
  %conv.i = sext i32 %16 to i64
  %cmp3.not.i = icmp eq i64 %15, %conv.i
  br i1 %cmp3.not.i, label %lor.lhs.false.i, label %if.then14

lor.lhs.false.i:                                  ; preds = %if.end.i
  %descr.i.i = getelementptr inbounds i8, ptr %14, i64 56
  %17 = load ptr, ptr %descr.i.i, align 8
  %18 = load ptr, ptr %record.0354407, align 8
  %cmp.i.i = icmp eq ptr %17, %18
  br i1 %cmp.i.i, label %lor.lhs.false7.i, label %lor.rhs.i.i

lor.rhs.i.i:                                      ; preds = %lor.lhs.false.i
  %type_num.i.i = getelementptr inbounds i8, ptr %17, i64 28
  %19 = load i32, ptr %type_num.i.i, align 4
  %type_num1.i.i = getelementptr inbounds i8, ptr %18, i64 28
  %20 = load i32, ptr %type_num1.i.i, align 4
  %cmp2.i.i = icmp eq i32 %19, %20
  br i1 %cmp2.i.i, label %is_same.exit.i, label %if.then14

is_same.exit.i:                                   ; preds = %lor.rhs.i.i
  %byteorder.i.i = getelementptr inbounds i8, ptr %17, i64 26
  %21 = load i8, ptr %byteorder.i.i, align 2
  %cmp3.i.not.i = icmp eq i8 %21, 62
  br i1 %cmp3.i.not.i, label %if.then14, label %lor.lhs.false7.i

lor.lhs.false7.i:                                 ; preds = %is_same.exit.i, %lor.lhs.false.i
  %flags.i.i = getelementptr inbounds i8, ptr %14, i64 64
  %22 = load i32, ptr %flags.i.i, align 8
  %conv9.i = sext i32 %22 to i64
  %flags.i = getelementptr inbounds i8, ptr %record.0354407, i64 16
  %23 = load i64, ptr %flags.i, align 8
  %and.i = and i64 %23, %conv9.i
  %cmp11.not.i = icmp eq i64 %and.i, %23
  br i1 %cmp11.not.i, label %if.end14.i, label %if.then14

if.end14.i:                                       ; preds = %lor.lhs.false7.i
  %dimensions.i.i = getelementptr inbounds i8, ptr %14, i64 32
  %24 = load ptr, ptr %dimensions.i.i, align 8
  %strides.i.i = getelementptr inbounds i8, ptr %14, i64 40
  %25 = load ptr, ptr %strides.i.i, align 8
  %lengths17.i = getelementptr inbounds i8, ptr %record.0354407, i64 24
  %add.ptr.i = getelementptr inbounds i64, ptr %lengths17.i, i64 %15
  %cmp18.not68.i = icmp sgt i64 %15, 0
  br i1 %cmp18.not68.i, label %for.body.i.preheader, label %if.end17

for.body.i.preheader:                             ; preds = %if.end14.i
  %26 = load i64, ptr %24, align 8
  %27 = load i64, ptr %lengths17.i, align 8
  %cmp21.not.i347 = icmp eq i64 %26, %27
  br i1 %cmp21.not.i347, label %lor.lhs.false23.i.preheader, label %if.then14

lor.lhs.false23.i.preheader:                      ; preds = %for.body.i.preheader
  %28 = load i64, ptr %25, align 8
  %29 = load i64, ptr %add.ptr.i, align 8
  %cmp26.not.i398 = icmp eq i64 %28, %29
  %cmp29.not.i399 = icmp eq i64 %29, -9223372036854775808
  %or.cond.i400 = or i1 %cmp26.not.i398, %cmp29.not.i399
  br i1 %or.cond.i400, label %for.cond.i, label %cleanup.i

for.cond.i:                                       ; preds = %lor.lhs.false23.i.preheader, %lor.lhs.false23.i
  %k.069.i349401 = phi i64 [ %inc.i, %lor.lhs.false23.i ], [ 0, %lor.lhs.false23.i.preheader ]
  %inc.i = add nuw nsw i64 %k.069.i349401, 1
  %exitcond.not.i = icmp eq i64 %inc.i, %15
  br i1 %exitcond.not.i, label %cleanup.i.loopexit, label %for.body.i

for.body.i:                                       ; preds = %for.cond.i
  %arrayidx.i = getelementptr inbounds i64, ptr %24, i64 %inc.i
  %30 = load i64, ptr %arrayidx.i, align 8
  %arrayidx20.i = getelementptr inbounds i64, ptr %lengths17.i, i64 %inc.i
  %31 = load i64, ptr %arrayidx20.i, align 8
  %cmp21.not.i = icmp eq i64 %30, %31
  br i1 %cmp21.not.i, label %lor.lhs.false23.i, label %cleanup.i.loopexit

lor.lhs.false23.i:                                ; preds = %for.body.i
  %arrayidx24.i = getelementptr inbounds i64, ptr %25, i64 %inc.i
  %32 = load i64, ptr %arrayidx24.i, align 8
  %arrayidx25.i = getelementptr inbounds i64, ptr %add.ptr.i, i64 %inc.i
  %33 = load i64, ptr %arrayidx25.i, align 8
  %cmp26.not.i = icmp eq i64 %32, %33
  %cmp29.not.i = icmp eq i64 %33, -9223372036854775808
  %or.cond.i = or i1 %cmp26.not.i, %cmp29.not.i
  br i1 %or.cond.i, label %for.cond.i, label %cleanup.i.loopexit

cleanup.i.loopexit:                               ; preds = %for.cond.i, %for.body.i, %lor.lhs.false23.i
  %cmp18.not.i.le = icmp slt i64 %inc.i, %15
  br label %cleanup.i

cleanup.i:                                        ; preds = %cleanup.i.loopexit, %lor.lhs.false23.i.preheader
  %cmp18.not.lcssa.i = phi i1 [ true, %lor.lhs.false23.i.preheader ], [ %cmp18.not.i.le, %cleanup.i.loopexit ]
  %cond.fr.i = freeze i1 %cmp18.not.lcssa.i
  br i1 %cond.fr.i, label %if.then14, label %if.end17

if.then14:                                        ; preds = %lor.rhs.i.i, %if.end.i, %is_same.exit.i, %lor.lhs.false7.i, %for.body, %cleanup.i, %for.body.i.preheader, %for.body.preheader
  %cmp10.not355.lcssa = phi i1 [ true, %for.body.preheader ], [ %cmp10.not355406, %lor.rhs.i.i ], [ %cmp10.not355406, %if.end.i ], [ %cmp10.not355406, %is_same.exit.i ], [ %cmp10.not355406, %lor.lhs.false7.i ], [ %cmp10.not, %for.body ], [ %cmp10.not355406, %cleanup.i ], [ %cmp10.not355406, %for.body.i.preheader ]
  %34 = load ptr, ptr %0, align 8
  %call16 = tail call ptr @PyObject_Vectorcall(ptr noundef %34, ptr noundef nonnull %args, i64 noundef %count, ptr noundef null) #4
  br i1 %cmp10.not355.lcssa, label %cleanup140, label %for.cond22.preheader

if.end17:                                         ; preds = %if.end14.i, %cleanup.i
  %retval.3.i = getelementptr inbounds i64, ptr %add.ptr.i, i64 %15
  %data.i249 = getelementptr inbounds i8, ptr %14, i64 16
  %35 = load ptr, ptr %data.i249, align 8
  %arrayidx20 = getelementptr inbounds ptr, ptr %9, i64 %k.0353408
  store ptr %35, ptr %arrayidx20, align 8
  %inc = add nuw nsw i64 %k.0353408, 1
  %exitcond.not = icmp eq i64 %inc, %count
  br i1 %exitcond.not, label %for.cond22.preheader, label %for.body

for.cond22.preheader:                             ; preds = %if.end17, %if.end, %if.then14
  %record.1387 = phi ptr [ null, %if.then14 ], [ %add.ptr, %if.end ], [ %retval.3.i, %if.end17 ]
  %cmp23358 = icmp sgt i64 %3, 0
  br i1 %cmp23358, label %for.body25.lr.ph, label %for.cond.cleanup24

for.body25.lr.ph:                                 ; preds = %for.cond22.preheader
  %36 = getelementptr ptr, ptr %9, i64 %count
  br label %for.body25

for.cond.cleanup24:                               ; preds = %for.body25, %for.cond22.preheader
  %add34 = shl i64 %4, 3
  %mul35 = add i64 %add34, 8
  %37 = alloca i8, i64 %mul35, align 16
  %cmp38.not360 = icmp sgt i64 %4, 0
  br i1 %cmp38.not360, label %for.body40.lr.ph, label %for.end61

for.body40.lr.ph:                                 ; preds = %for.cond.cleanup24
  %38 = getelementptr ptr, ptr %9, i64 %add
  br label %for.body40

for.body25:                                       ; preds = %for.body25.lr.ph, %for.body25
  %k21.0359 = phi i64 [ 0, %for.body25.lr.ph ], [ %inc31, %for.body25 ]
  %arrayidx27 = getelementptr inbounds [0 x i64], ptr %rest, i64 0, i64 %k21.0359
  %39 = load i64, ptr %arrayidx27, align 8
  %40 = inttoptr i64 %39 to ptr
  %arrayidx29 = getelementptr ptr, ptr %36, i64 %k21.0359
  store ptr %40, ptr %arrayidx29, align 8
  %inc31 = add nuw nsw i64 %k21.0359, 1
  %exitcond378.not = icmp eq i64 %inc31, %3
  br i1 %exitcond378.not, label %for.cond.cleanup24, label %for.body25

for.body40:                                       ; preds = %for.body40.lr.ph, %cleanup55.thread313
  %record.2362 = phi ptr [ %record.1387, %for.body40.lr.ph ], [ %add.ptr54, %cleanup55.thread313 ]
  %k36.0361 = phi i64 [ 0, %for.body40.lr.ph ], [ %inc58, %cleanup55.thread313 ]
  %flags.i250 = getelementptr inbounds i8, ptr %record.2362, i64 16
  %41 = load i64, ptr %flags.i250, align 8
  %cmp.not.i251 = icmp eq i64 %41, 0
  br i1 %cmp.not.i251, label %new_array.exit, label %cond.true.i

cond.true.i:                                      ; preds = %for.body40
  %lengths.i = getelementptr inbounds i8, ptr %record.2362, i64 24
  %ndim.i = getelementptr inbounds i8, ptr %record.2362, i64 8
  %42 = load i64, ptr %ndim.i, align 8
  %add.ptr.i252 = getelementptr inbounds i64, ptr %lengths.i, i64 %42
  br label %new_array.exit

new_array.exit:                                   ; preds = %for.body40, %cond.true.i
  %cond.i = phi ptr [ %add.ptr.i252, %cond.true.i ], [ null, %for.body40 ]
  %43 = load ptr, ptr %record.2362, align 8
  tail call void @Py_IncRef(ptr noundef %43) #4
  %44 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx.i253 = getelementptr inbounds i8, ptr %44, i64 752
  %45 = load ptr, ptr %arrayidx.i253, align 8
  %46 = load ptr, ptr %record.2362, align 8
  %ndim2.i = getelementptr inbounds i8, ptr %record.2362, i64 8
  %47 = load i64, ptr %ndim2.i, align 8
  %conv.i254 = trunc i64 %47 to i32
  %lengths3.i = getelementptr inbounds i8, ptr %record.2362, i64 24
  %call.i = tail call ptr %45(ptr noundef %8, ptr noundef %46, i32 noundef %conv.i254, ptr noundef nonnull %lengths3.i, ptr noundef %cond.i, ptr noundef null, i32 noundef 0, ptr noundef null) #4
  %arrayidx42 = getelementptr inbounds ptr, ptr %37, i64 %k36.0361
  store ptr %call.i, ptr %arrayidx42, align 8
  %cmp44.not = icmp eq ptr %call.i, null
  br i1 %cmp44.not, label %if.then45, label %cleanup55.thread313

if.then45:                                        ; preds = %new_array.exit
  %cmp3.i.not = icmp eq i64 %k36.0361, 0
  br i1 %cmp3.i.not, label %cleanup140, label %for.body.i255

for.body.i255:                                    ; preds = %if.then45, %for.body.i255
  %k.04.i = phi i64 [ %inc.i257, %for.body.i255 ], [ 0, %if.then45 ]
  %arrayidx.i256 = getelementptr inbounds ptr, ptr %37, i64 %k.04.i
  %48 = load ptr, ptr %arrayidx.i256, align 8
  tail call void @Py_DecRef(ptr noundef %48) #4
  %inc.i257 = add nuw nsw i64 %k.04.i, 1
  %exitcond.not.i258 = icmp eq i64 %inc.i257, %k36.0361
  br i1 %exitcond.not.i258, label %cleanup140, label %for.body.i255

cleanup55.thread313:                              ; preds = %new_array.exit
  %data.i259 = getelementptr inbounds i8, ptr %call.i, i64 16
  %49 = load ptr, ptr %data.i259, align 8
  %arrayidx51 = getelementptr ptr, ptr %38, i64 %k36.0361
  store ptr %49, ptr %arrayidx51, align 8
  %50 = load i64, ptr %ndim2.i, align 8
  %add.ptr54.idx = shl nsw i64 %50, 4
  %add.ptr54 = getelementptr inbounds i8, ptr %lengths3.i, i64 %add.ptr54.idx
  %inc58 = add nuw nsw i64 %k36.0361, 1
  %exitcond379.not = icmp eq i64 %inc58, %4
  br i1 %exitcond379.not, label %for.end61, label %for.body40

for.end61:                                        ; preds = %cleanup55.thread313, %for.cond.cleanup24
  %record.2.lcssa = phi ptr [ %record.1387, %for.cond.cleanup24 ], [ %add.ptr54, %cleanup55.thread313 ]
  %arena = getelementptr inbounds i8, ptr %0, i64 56
  %51 = load i64, ptr %arena, align 8
  %cmp62 = icmp eq i64 %51, 0
  br i1 %cmp62, label %if.then63, label %if.else

if.then63:                                        ; preds = %for.end61
  %stack = getelementptr inbounds i8, ptr %0, i64 64
  %52 = load i64, ptr %stack, align 8
  %53 = alloca i8, i64 %52, align 64
  %54 = load ptr, ptr %code1, align 8
  %55 = load ptr, ptr %54, align 8
  %releases.i = getelementptr inbounds i8, ptr %0, i64 72
  %56 = load i64, ptr %releases.i, align 8
  %tobool.not.i = icmp eq i64 %56, 0
  br i1 %tobool.not.i, label %if.then.i, label %if.end.i260

if.then.i:                                        ; preds = %if.then63
  %call.i262 = call i64 %55(ptr noundef nonnull %9, ptr noundef nonnull %53) #4
  br label %if.end79

if.end.i260:                                      ; preds = %if.then63
  %call1.i = tail call ptr @PyEval_SaveThread() #4
  %call2.i = call i64 %55(ptr noundef nonnull %9, ptr noundef nonnull %53) #4
  call void @PyEval_RestoreThread(ptr noundef %call1.i) #4
  br label %if.end79

if.else:                                          ; preds = %for.end61
  %slot = getelementptr inbounds i8, ptr %0, i64 16
  %57 = load ptr, ptr %slot, align 8
  %58 = atomicrmw xchg ptr %57, i64 0 acq_rel, align 8
  %59 = inttoptr i64 %58 to ptr
  %cmp65 = icmp eq i64 %58, 0
  br i1 %cmp65, label %land.lhs.true, label %if.end71

land.lhs.true:                                    ; preds = %if.else
  %60 = load i64, ptr %arena, align 8
  %call67 = tail call noalias ptr @malloc(i64 noundef %60) #5
  %cmp68 = icmp eq ptr %call67, null
  br i1 %cmp68, label %if.then69, label %if.end71

if.then69:                                        ; preds = %land.lhs.true
  br i1 %cmp38.not360, label %for.body.i264, label %cleanup76

for.body.i264:                                    ; preds = %if.then69, %for.body.i264
  %k.04.i265 = phi i64 [ %inc.i267, %for.body.i264 ], [ 0, %if.then69 ]
  %arrayidx.i266 = getelementptr inbounds ptr, ptr %37, i64 %k.04.i265
  %61 = load ptr, ptr %arrayidx.i266, align 8
  tail call void @Py_DecRef(ptr noundef %61) #4
  %inc.i267 = add nuw nsw i64 %k.04.i265, 1
  %exitcond.not.i268 = icmp eq i64 %inc.i267, %4
  br i1 %exitcond.not.i268, label %cleanup76, label %for.body.i264

if.end71:                                         ; preds = %land.lhs.true, %if.else
  %room.0 = phi ptr [ %call67, %land.lhs.true ], [ %59, %if.else ]
  %62 = load ptr, ptr %code1, align 8
  %63 = load ptr, ptr %62, align 8
  %releases.i271 = getelementptr inbounds i8, ptr %0, i64 72
  %64 = load i64, ptr %releases.i271, align 8
  %tobool.not.i272 = icmp eq i64 %64, 0
  br i1 %tobool.not.i272, label %if.then.i278, label %if.end.i273

if.then.i278:                                     ; preds = %if.end71
  %call.i279 = call i64 %63(ptr noundef nonnull %9, ptr noundef %room.0) #4
  br label %cleanup76.thread

if.end.i273:                                      ; preds = %if.end71
  %call1.i274 = tail call ptr @PyEval_SaveThread() #4
  %call2.i275 = call i64 %63(ptr noundef nonnull %9, ptr noundef %room.0) #4
  call void @PyEval_RestoreThread(ptr noundef %call1.i274) #4
  br label %cleanup76.thread

cleanup76.thread:                                 ; preds = %if.end.i273, %if.then.i278
  %retval.0.i277 = phi i64 [ %call2.i275, %if.end.i273 ], [ %call.i279, %if.then.i278 ]
  %65 = load ptr, ptr %slot, align 8
  %66 = ptrtoint ptr %room.0 to i64
  %67 = atomicrmw xchg ptr %65, i64 %66 acq_rel, align 8
  %68 = inttoptr i64 %67 to ptr
  call void @free(ptr noundef %68) #4
  br label %if.end79

cleanup76:                                        ; preds = %for.body.i264, %if.then69
  %call70 = tail call ptr @PyErr_NoMemory() #4
  br label %cleanup140

if.end79:                                         ; preds = %cleanup76.thread, %if.end.i260, %if.then.i
  %wrong.1 = phi i64 [ %call2.i, %if.end.i260 ], [ %call.i262, %if.then.i ], [ %retval.0.i277, %cleanup76.thread ]
  %cmp80.not = icmp eq i64 %wrong.1, 0
  br i1 %cmp80.not, label %for.cond86.preheader, label %if.then81

for.cond86.preheader:                             ; preds = %if.end79
  br i1 %cmp38.not360, label %land.rhs.lr.ph, label %for.end115

land.rhs.lr.ph:                                   ; preds = %for.cond86.preheader
  %wrapper = getelementptr inbounds i8, ptr %0, i64 24
  %array_slot.i = getelementptr inbounds i8, ptr %0, i64 80
  br label %land.rhs

if.then81:                                        ; preds = %if.end79
  br i1 %cmp38.not360, label %for.body.i282, label %drop.exit287

for.body.i282:                                    ; preds = %if.then81, %for.body.i282
  %k.04.i283 = phi i64 [ %inc.i285, %for.body.i282 ], [ 0, %if.then81 ]
  %arrayidx.i284 = getelementptr inbounds ptr, ptr %37, i64 %k.04.i283
  %69 = load ptr, ptr %arrayidx.i284, align 8
  call void @Py_DecRef(ptr noundef %69) #4
  %inc.i285 = add nuw nsw i64 %k.04.i283, 1
  %exitcond.not.i286 = icmp eq i64 %inc.i285, %4
  br i1 %exitcond.not.i286, label %drop.exit287, label %for.body.i282

drop.exit287:                                     ; preds = %for.body.i282, %if.then81
  %70 = load ptr, ptr %0, align 8
  %call83 = call ptr @PyObject_Vectorcall(ptr noundef %70, ptr noundef %args, i64 noundef %count, ptr noundef null) #4
  br label %cleanup140

land.rhs:                                         ; preds = %land.rhs.lr.ph, %for.inc111
  %record.5368 = phi ptr [ %record.2.lcssa, %land.rhs.lr.ph ], [ %add.ptr107, %for.inc111 ]
  %k85.0367 = phi i64 [ 0, %land.rhs.lr.ph ], [ %inc112, %for.inc111 ]
  %71 = load ptr, ptr %wrapper, align 8
  %cmp88.not = icmp eq ptr %71, null
  br i1 %cmp88.not, label %for.end115, label %for.body90

for.body90:                                       ; preds = %land.rhs
  %72 = load i64, ptr %record.5368, align 8
  %cmp92.not = icmp eq i64 %72, 0
  br i1 %cmp92.not, label %for.inc111, label %if.then93

if.then93:                                        ; preds = %for.body90
  %arrayidx94 = getelementptr inbounds ptr, ptr %37, i64 %k85.0367
  %73 = load ptr, ptr %arrayidx94, align 8
  %call.i288 = call ptr @PyType_GenericAlloc(ptr noundef nonnull %71, i64 noundef 0) #4
  %cmp.i = icmp eq ptr %call.i288, null
  br i1 %cmp.i, label %for.body.i296, label %if.end.i289

if.end.i289:                                      ; preds = %if.then93
  %74 = load i64, ptr %array_slot.i, align 8
  %add.ptr.i290 = getelementptr inbounds i8, ptr %call.i288, i64 %74
  store ptr %73, ptr %add.ptr.i290, align 8
  %75 = load i64, ptr %record.5368, align 8
  %cmp119.i = icmp sgt i64 %75, 0
  br i1 %cmp119.i, label %for.body.lr.ph.i, label %cleanup100.thread329

for.body.lr.ph.i:                                 ; preds = %if.end.i289
  %slots.i = getelementptr inbounds i8, ptr %record.5368, i64 8
  br label %for.body.i292

for.body.i292:                                    ; preds = %for.body.i292, %for.body.lr.ph.i
  %k.020.i = phi i64 [ 0, %for.body.lr.ph.i ], [ %inc.i294, %for.body.i292 ]
  %arrayidx.i293 = getelementptr inbounds [0 x %struct.anon], ptr %slots.i, i64 0, i64 %k.020.i
  %value.i = getelementptr inbounds i8, ptr %arrayidx.i293, i64 8
  %76 = load ptr, ptr %value.i, align 8
  call void @Py_IncRef(ptr noundef %76) #4
  %77 = load ptr, ptr %value.i, align 8
  %78 = load i64, ptr %arrayidx.i293, align 8
  %add.ptr7.i = getelementptr inbounds i8, ptr %call.i288, i64 %78
  store ptr %77, ptr %add.ptr7.i, align 8
  %inc.i294 = add nuw nsw i64 %k.020.i, 1
  %79 = load i64, ptr %record.5368, align 8
  %cmp1.i = icmp slt i64 %inc.i294, %79
  br i1 %cmp1.i, label %for.body.i292, label %cleanup100.thread329

for.body.i296:                                    ; preds = %if.then93, %for.body.i296
  %k.04.i297 = phi i64 [ %inc.i299, %for.body.i296 ], [ 0, %if.then93 ]
  %arrayidx.i298 = getelementptr inbounds ptr, ptr %37, i64 %k.04.i297
  %80 = load ptr, ptr %arrayidx.i298, align 8
  call void @Py_DecRef(ptr noundef %80) #4
  %inc.i299 = add nuw nsw i64 %k.04.i297, 1
  %exitcond.not.i300 = icmp eq i64 %inc.i299, %4
  br i1 %exitcond.not.i300, label %cleanup140, label %for.body.i296

cleanup100.thread329:                             ; preds = %for.body.i292, %if.end.i289
  store ptr %call.i288, ptr %arrayidx94, align 8
  %.pre = load i64, ptr %record.5368, align 8
  br label %for.inc111

for.inc111:                                       ; preds = %cleanup100.thread329, %for.body90
  %81 = phi i64 [ %.pre, %cleanup100.thread329 ], [ 0, %for.body90 ]
  %mul105 = shl nsw i64 %81, 1
  %add106 = or disjoint i64 %mul105, 1
  %add.ptr107 = getelementptr inbounds i64, ptr %record.5368, i64 %add106
  %inc112 = add nuw nsw i64 %k85.0367, 1
  %exitcond380.not = icmp eq i64 %inc112, %4
  br i1 %exitcond380.not, label %for.end115, label %land.rhs

for.end115:                                       ; preds = %land.rhs, %for.inc111, %for.cond86.preheader
  %single = getelementptr inbounds i8, ptr %0, i64 88
  %82 = load i64, ptr %single, align 8
  %tobool.not = icmp eq i64 %82, 0
  br i1 %tobool.not, label %if.end118, label %if.then116

if.then116:                                       ; preds = %for.end115
  %83 = load ptr, ptr %37, align 16
  br label %cleanup140

if.end118:                                        ; preds = %for.end115
  %call119 = call ptr @PyTuple_New(i64 noundef %4) #4
  %cmp120 = icmp eq ptr %call119, null
  br i1 %cmp120, label %if.then121, label %for.cond124.preheader

for.cond124.preheader:                            ; preds = %if.end118
  br i1 %cmp38.not360, label %for.body127, label %cleanup140

if.then121:                                       ; preds = %if.end118
  br i1 %cmp38.not360, label %for.body.i303, label %cleanup140

for.body.i303:                                    ; preds = %if.then121, %for.body.i303
  %k.04.i304 = phi i64 [ %inc.i306, %for.body.i303 ], [ 0, %if.then121 ]
  %arrayidx.i305 = getelementptr inbounds ptr, ptr %37, i64 %k.04.i304
  %84 = load ptr, ptr %arrayidx.i305, align 8
  call void @Py_DecRef(ptr noundef %84) #4
  %inc.i306 = add nuw nsw i64 %k.04.i304, 1
  %exitcond.not.i307 = icmp eq i64 %inc.i306, %4
  br i1 %exitcond.not.i307, label %cleanup140, label %for.body.i303

for.body127:                                      ; preds = %for.cond124.preheader, %for.body127
  %k123.0372 = phi i64 [ %inc131, %for.body127 ], [ 0, %for.cond124.preheader ]
  %arrayidx128 = getelementptr inbounds ptr, ptr %37, i64 %k123.0372
  %85 = load ptr, ptr %arrayidx128, align 8
  %call129 = call i32 @PyTuple_SetItem(ptr noundef nonnull %call119, i64 noundef %k123.0372, ptr noundef %85) #4
  %inc131 = add nuw nsw i64 %k123.0372, 1
  %exitcond381.not = icmp eq i64 %inc131, %4
  br i1 %exitcond381.not, label %cleanup140, label %for.body127

cleanup140:                                       ; preds = %for.body.i296, %for.body127, %for.body.i303, %for.body.i255, %if.then14, %if.then45, %for.cond124.preheader, %if.then121, %cleanup76, %drop.exit287, %if.then116, %if.then
  %retval.15 = phi ptr [ %call7, %if.then ], [ %call83, %drop.exit287 ], [ %83, %if.then116 ], [ %call70, %cleanup76 ], [ null, %if.then121 ], [ %call119, %for.cond124.preheader ], [ null, %if.then45 ], [ %call16, %if.then14 ], [ null, %for.body.i255 ], [ null, %for.body.i303 ], [ %call119, %for.body127 ], [ null, %for.body.i296 ]
  ret ptr %retval.15
}

declare ptr @PyObject_Vectorcall(ptr noundef, ptr noundef, i64 noundef, ptr noundef) local_unnamed_addr #1

declare noalias noundef ptr @malloc(i64 noundef) local_unnamed_addr #2

declare ptr @PyErr_NoMemory() local_unnamed_addr #1

declare void @free(ptr allocptr nocapture noundef) local_unnamed_addr #3

declare ptr @PyTuple_New(i64 noundef) local_unnamed_addr #1

declare i32 @PyTuple_SetItem(ptr noundef, i64 noundef, ptr noundef) local_unnamed_addr #1

declare void @Py_IncRef(ptr noundef) local_unnamed_addr #1

declare void @Py_DecRef(ptr noundef) local_unnamed_addr #1

declare ptr @PyEval_SaveThread() local_unnamed_addr #1

declare void @PyEval_RestoreThread(ptr noundef) local_unnamed_addr #1

declare ptr @PyType_GenericAlloc(ptr noundef, i64 noundef) local_unnamed_addr #1

attributes #0 = { nounwind }
attributes #1 = { nounwind }
attributes #2 = { mustprogress nofree nounwind willreturn allockind("alloc,uninitialized") allocsize(0) memory(inaccessiblemem: readwrite) }
attributes #3 = { mustprogress nounwind willreturn allockind("free") memory(argmem: readwrite, inaccessiblemem: readwrite) }
attributes #4 = { nounwind }
attributes #5 = { nounwind allocsize(0) }
