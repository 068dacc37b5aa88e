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
  %or.cond279 = select i1 %cmp.not, i1 true, i1 %cmp6
  br i1 %or.cond279, label %if.then, label %if.end

if.then:                                          ; preds = %entry
  %6 = load ptr, ptr %0, align 8
  %call7 = tail call ptr @PyObject_Vectorcall(ptr noundef %6, ptr noundef %args, i64 noundef %count, ptr noundef null) #4
  br label %cleanup164

if.end:                                           ; preds = %entry
  %7 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx = getelementptr inbounds i8, ptr %7, i64 16
  %8 = load ptr, ptr %arrayidx, align 8
  %add = add nsw i64 %3, %count
  %add8 = add nsw i64 %add, %4
  %add9 = shl i64 %add8, 3
  %mul = add i64 %add9, 8
  %9 = alloca i8, i64 %mul, align 16
  %rest = getelementptr inbounds i8, ptr %0, i64 104
  %add.ptr = getelementptr inbounds i64, ptr %rest, i64 %3
  %cmp10.not397 = icmp sgt i64 %count, 0
  br i1 %cmp10.not397, label %for.body.preheader, label %for.cond22.preheader

for.body.preheader:                               ; preds = %if.end
  %10 = load ptr, ptr %args, align 8
  %ob_type.i.i459 = getelementptr inbounds i8, ptr %10, i64 8
  %11 = load ptr, ptr %ob_type.i.i459, align 8
  %cmp.not.i460 = icmp eq ptr %11, %8
  br i1 %cmp.not.i460, label %if.end.i, label %if.then14

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
  %k.0398463 = phi i64 [ %inc, %for.body ], [ 0, %for.body.preheader ]
  %record.0399462 = phi ptr [ %retval.3.i, %for.body ], [ %add.ptr, %for.body.preheader ]
  %cmp10.not400461 = phi i1 [ %cmp10.not, %for.body ], [ true, %for.body.preheader ]
  %ndim1.i = getelementptr inbounds i8, ptr %record.0399462, i64 8
  %15 = load i64, ptr %ndim1.i, align 8
  %nd.i.i = getelementptr inbounds i8, ptr %14, i64 24
  %16 = load i32, ptr %nd.i.i, align 8
  %conv.i = sext i32 %16 to i64
  %cmp3.not.i = icmp eq i64 %15, %conv.i
  br i1 %cmp3.not.i, label %lor.lhs.false.i, label %if.then14

lor.lhs.false.i:                                  ; preds = %if.end.i
  %descr.i.i = getelementptr inbounds i8, ptr %14, i64 56
  %17 = load ptr, ptr %descr.i.i, align 8
  %18 = load ptr, ptr %record.0399462, align 8
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
  %flags.i = getelementptr inbounds i8, ptr %record.0399462, i64 16
  %23 = load i64, ptr %flags.i, align 8
  %and.i = and i64 %23, %conv9.i
  %cmp11.not.i = icmp eq i64 %and.i, %23
  br i1 %cmp11.not.i, label %if.end14.i, label %if.then14

if.end14.i:                                       ; preds = %lor.lhs.false7.i
  %dimensions.i.i = getelementptr inbounds i8, ptr %14, i64 32
  %24 = load ptr, ptr %dimensions.i.i, align 8
  %strides.i.i = getelementptr inbounds i8, ptr %14, i64 40
  %25 = load ptr, ptr %strides.i.i, align 8
  %lengths17.i = getelementptr inbounds i8, ptr %record.0399462, i64 24
  %add.ptr.i = getelementptr inbounds i64, ptr %lengths17.i, i64 %15
  %cmp18.not68.i = icmp sgt i64 %15, 0
  br i1 %cmp18.not68.i, label %for.body.i.preheader, label %if.end17

for.body.i.preheader:                             ; preds = %if.end14.i
  %26 = load i64, ptr %24, align 8
  %27 = load i64, ptr %lengths17.i, align 8
  %cmp21.not.i392 = icmp eq i64 %26, %27
  br i1 %cmp21.not.i392, label %lor.lhs.false23.i.preheader, label %if.then14

lor.lhs.false23.i.preheader:                      ; preds = %for.body.i.preheader
  %28 = load i64, ptr %25, align 8
  %29 = load i64, ptr %add.ptr.i, align 8
  %cmp26.not.i453 = icmp eq i64 %28, %29
  %cmp29.not.i454 = icmp eq i64 %29, -9223372036854775808
  %or.cond.i455 = or i1 %cmp26.not.i453, %cmp29.not.i454
  br i1 %or.cond.i455, label %for.cond.i, label %cleanup.i

for.cond.i:                                       ; preds = %lor.lhs.false23.i.preheader, %lor.lhs.false23.i
  %k.069.i394456 = phi i64 [ %inc.i, %lor.lhs.false23.i ], [ 0, %lor.lhs.false23.i.preheader ]
  %inc.i = add nuw nsw i64 %k.069.i394456, 1
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
  %cmp10.not400.lcssa = phi i1 [ true, %for.body.preheader ], [ %cmp10.not400461, %lor.rhs.i.i ], [ %cmp10.not400461, %if.end.i ], [ %cmp10.not400461, %is_same.exit.i ], [ %cmp10.not400461, %lor.lhs.false7.i ], [ %cmp10.not, %for.body ], [ %cmp10.not400461, %cleanup.i ], [ %cmp10.not400461, %for.body.i.preheader ]
  %34 = load ptr, ptr %0, align 8
  %call16 = tail call ptr @PyObject_Vectorcall(ptr noundef %34, ptr noundef nonnull %args, i64 noundef %count, ptr noundef null) #4
  br i1 %cmp10.not400.lcssa, label %cleanup164, label %for.cond22.preheader

if.end17:                                         ; preds = %if.end14.i, %cleanup.i
  %retval.3.i = getelementptr inbounds i64, ptr %add.ptr.i, i64 %15
  %data.i280 = getelementptr inbounds i8, ptr %14, i64 16
  %35 = load ptr, ptr %data.i280, align 8
  %arrayidx20 = getelementptr inbounds ptr, ptr %9, i64 %k.0398463
  store ptr %35, ptr %arrayidx20, align 8
  %inc = add nuw nsw i64 %k.0398463, 1
  %exitcond.not = icmp eq i64 %inc, %count
  br i1 %exitcond.not, label %for.cond22.preheader, label %for.body

for.cond22.preheader:                             ; preds = %if.end17, %if.end, %if.then14
  %record.1439 = phi ptr [ null, %if.then14 ], [ %add.ptr, %if.end ], [ %retval.3.i, %if.end17 ]
  %cmp23403 = icmp sgt i64 %3, 0
  br i1 %cmp23403, label %for.body25.lr.ph, label %for.cond.cleanup24

for.body25.lr.ph:                                 ; preds = %for.cond22.preheader
  %36 = getelementptr ptr, ptr %9, i64 %count
  br label %for.body25

for.cond.cleanup24:                               ; preds = %for.body25, %for.cond22.preheader
  %add34 = shl i64 %4, 3
  %mul35 = add i64 %add34, 8
  %37 = alloca i8, i64 %mul35, align 16
  %cmp38.not405 = icmp sgt i64 %4, 0
  br i1 %cmp38.not405, label %for.body40.lr.ph, label %for.end61

for.body40.lr.ph:                                 ; preds = %for.cond.cleanup24
  %38 = getelementptr ptr, ptr %9, i64 %add
  br label %for.body40

for.body25:                                       ; preds = %for.body25.lr.ph, %for.body25
  %k21.0404 = phi i64 [ 0, %for.body25.lr.ph ], [ %inc31, %for.body25 ]
  %arrayidx27 = getelementptr inbounds [0 x i64], ptr %rest, i64 0, i64 %k21.0404
  %39 = load i64, ptr %arrayidx27, align 8
  %40 = inttoptr i64 %39 to ptr
  %arrayidx29 = getelementptr ptr, ptr %36, i64 %k21.0404
  store ptr %40, ptr %arrayidx29, align 8
  %inc31 = add nuw nsw i64 %k21.0404, 1
  %exitcond429.not = icmp eq i64 %inc31, %3
  br i1 %exitcond429.not, label %for.cond.cleanup24, label %for.body25

for.body40:                                       ; preds = %for.body40.lr.ph, %cleanup55.thread357
  %record.2407 = phi ptr [ %record.1439, %for.body40.lr.ph ], [ %add.ptr54, %cleanup55.thread357 ]
  %k36.0406 = phi i64 [ 0, %for.body40.lr.ph ], [ %inc58, %cleanup55.thread357 ]
  %flags.i281 = getelementptr inbounds i8, ptr %record.2407, i64 16
  %41 = load i64, ptr %flags.i281, align 8
  %cmp.not.i282 = icmp eq i64 %41, 0
  br i1 %cmp.not.i282, label %new_array.exit, label %cond.true.i

cond.true.i:                                      ; preds = %for.body40
  %lengths.i = getelementptr inbounds i8, ptr %record.2407, i64 24
  %ndim.i = getelementptr inbounds i8, ptr %record.2407, i64 8
  %42 = load i64, ptr %ndim.i, align 8
  %add.ptr.i283 = getelementptr inbounds i64, ptr %lengths.i, i64 %42
  br label %new_array.exit

new_array.exit:                                   ; preds = %for.body40, %cond.true.i
  %cond.i = phi ptr [ %add.ptr.i283, %cond.true.i ], [ null, %for.body40 ]
  %43 = load ptr, ptr %record.2407, align 8
  tail call void @Py_IncRef(ptr noundef %43) #4
  %44 = load ptr, ptr @pullback_numpy, align 8
  %arrayidx.i284 = getelementptr inbounds i8, ptr %44, i64 752
  %45 = load ptr, ptr %arrayidx.i284, align 8
  %46 = load ptr, ptr %record.2407, align 8
  %ndim2.i = getelementptr inbounds i8, ptr %record.2407, i64 8
  %47 = load i64, ptr %ndim2.i, align 8
  %conv.i285 = trunc i64 %47 to i32
  %lengths3.i = getelementptr inbounds i8, ptr %record.2407, i64 24
  %call.i = tail call ptr %45(ptr noundef %8, ptr noundef %46, i32 noundef %conv.i285, ptr noundef nonnull %lengths3.i, ptr noundef %cond.i, ptr noundef null, i32 noundef 0, ptr noundef null) #4
  %arrayidx42 = getelementptr inbounds ptr, ptr %37, i64 %k36.0406
  store ptr %call.i, ptr %arrayidx42, align 8
  %cmp44.not = icmp eq ptr %call.i, null
  br i1 %cmp44.not, label %if.then45, label %cleanup55.thread357

if.then45:                                        ; preds = %new_array.exit
  %cmp3.i.not = icmp eq i64 %k36.0406, 0
  br i1 %cmp3.i.not, label %cleanup164, label %for.body.i286

for.body.i286:                                    ; preds = %if.then45, %for.body.i286
  %k.04.i = phi i64 [ %inc.i288, %for.body.i286 ], [ 0, %if.then45 ]
  %arrayidx.i287 = getelementptr inbounds ptr, ptr %37, i64 %k.04.i
  %48 = load ptr, ptr %arrayidx.i287, align 8
  tail call void @Py_DecRef(ptr noundef %48) #4
  %inc.i288 = add nuw nsw i64 %k.04.i, 1
  %exitcond.not.i289 = icmp eq i64 %inc.i288, %k36.0406
  br i1 %exitcond.not.i289, label %cleanup164, label %for.body.i286

cleanup55.thread357:                              ; preds = %new_array.exit
  %data.i290 = getelementptr inbounds i8, ptr %call.i, i64 16
  %49 = load ptr, ptr %data.i290, align 8
  %arrayidx51 = getelementptr ptr, ptr %38, i64 %k36.0406
  store ptr %49, ptr %arrayidx51, align 8
  %50 = load i64, ptr %ndim2.i, align 8
  %add.ptr54.idx = shl nsw i64 %50, 4
  %add.ptr54 = getelementptr inbounds i8, ptr %lengths3.i, i64 %add.ptr54.idx
  %inc58 = add nuw nsw i64 %k36.0406, 1
  %exitcond430.not = icmp eq i64 %inc58, %4
  br i1 %exitcond430.not, label %for.end61, label %for.body40

for.end61:                                        ; preds = %cleanup55.thread357, %for.cond.cleanup24
  %record.2.lcssa = phi ptr [ %record.1439, %for.cond.cleanup24 ], [ %add.ptr54, %cleanup55.thread357 ]
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
  br i1 %tobool.not.i, label %if.then.i, label %if.end.i291

if.then.i:                                        ; preds = %if.then63
  %call.i293 = call i64 %55(ptr noundef nonnull %9, ptr noundef nonnull %53) #4
  br label %if.end79

if.end.i291:                                      ; preds = %if.then63
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
  br i1 %cmp38.not405, label %for.body.i295, label %cleanup76

for.body.i295:                                    ; preds = %if.then69, %for.body.i295
  %k.04.i296 = phi i64 [ %inc.i298, %for.body.i295 ], [ 0, %if.then69 ]
  %arrayidx.i297 = getelementptr inbounds ptr, ptr %37, i64 %k.04.i296
  %61 = load ptr, ptr %arrayidx.i297, align 8
  tail call void @Py_DecRef(ptr noundef %61) #4
  %inc.i298 = add nuw nsw i64 %k.04.i296, 1
  %exitcond.not.i299 = icmp eq i64 %inc.i298, %4
  br i1 %exitcond.not.i299, label %cleanup76, label %for.body.i295

if.end71:                                         ; preds = %land.lhs.true, %if.else
  %room.0 = phi ptr [ %call67, %land.lhs.true ], [ %59, %if.else ]
  %62 = load ptr, ptr %code1, align 8
  %63 = load ptr, ptr %62, align 8
  %releases.i302 = getelementptr inbounds i8, ptr %0, i64 72
  %64 = load i64, ptr %releases.i302, align 8
  %tobool.not.i303 = icmp eq i64 %64, 0
  br i1 %tobool.not.i303, label %if.then.i309, label %if.end.i304

if.then.i309:                                     ; preds = %if.end71
  %call.i310 = call i64 %63(ptr noundef nonnull %9, ptr noundef %room.0) #4
  br label %cleanup76.thread

if.end.i304:                                      ; preds = %if.end71
  %call1.i305 = tail call ptr @PyEval_SaveThread() #4
  %call2.i306 = call i64 %63(ptr noundef nonnull %9, ptr noundef %room.0) #4
  call void @PyEval_RestoreThread(ptr noundef %call1.i305) #4
  br label %cleanup76.thread

cleanup76.thread:                                 ; preds = %if.end.i304, %if.then.i309
  %retval.0.i308 = phi i64 [ %call2.i306, %if.end.i304 ], [ %call.i310, %if.then.i309 ]
  %65 = load ptr, ptr %slot, align 8
  %66 = ptrtoint ptr %room.0 to i64
  %67 = atomicrmw xchg ptr %65, i64 %66 acq_rel, align 8
  %68 = inttoptr i64 %67 to ptr
  call void @free(ptr noundef %68) #4
  br label %if.end79

cleanup76:                                        ; preds = %for.body.i295, %if.then69
  %call70 = tail call ptr @PyErr_NoMemory() #4
  br label %cleanup164

if.end79:                                         ; preds = %cleanup76.thread, %if.end.i291, %if.then.i
  %wrong.1 = phi i64 [ %call2.i, %if.end.i291 ], [ %call.i293, %if.then.i ], [ %retval.0.i308, %cleanup76.thread ]
  %69 = icmp eq i64 %wrong.1, 0
  br i1 %cmp38.not405, label %land.lhs.true83.lr.ph, label %for.cond.cleanup85.thread

land.lhs.true83.lr.ph:                            ; preds = %if.end79
  %finite = getelementptr inbounds i8, ptr %0, i64 96
  %70 = load i64, ptr %finite, align 8
  %tobool = icmp ne i64 %70, 0
  br label %land.lhs.true83

land.lhs.true83:                                  ; preds = %land.lhs.true83.lr.ph, %is_finite.exit
  %k80.0413 = phi i64 [ 0, %land.lhs.true83.lr.ph ], [ %inc91, %is_finite.exit ]
  %wrong.2412 = phi i1 [ %69, %land.lhs.true83.lr.ph ], [ %tobool.not.i314, %is_finite.exit ]
  %or.cond = select i1 %tobool, i1 %wrong.2412, i1 false
  br i1 %or.cond, label %for.body86, label %for.cond.cleanup85

for.cond.cleanup85:                               ; preds = %is_finite.exit, %land.lhs.true83
  %wrong.2.lcssa = phi i1 [ %tobool.not.i314, %is_finite.exit ], [ %wrong.2412, %land.lhs.true83 ]
  br i1 %wrong.2.lcssa, label %for.cond101.preheader, label %if.then96

for.cond.cleanup85.thread:                        ; preds = %if.end79
  br i1 %69, label %for.end136, label %drop.exit328

for.cond101.preheader:                            ; preds = %for.cond.cleanup85
  br i1 %cmp38.not405, label %land.rhs104.lr.ph, label %for.end136

land.rhs104.lr.ph:                                ; preds = %for.cond101.preheader
  %wrapper = getelementptr inbounds i8, ptr %0, i64 24
  %array_slot.i = getelementptr inbounds i8, ptr %0, i64 80
  br label %land.rhs104

for.body86:                                       ; preds = %land.lhs.true83
  %arrayidx87 = getelementptr inbounds ptr, ptr %37, i64 %k80.0413
  %71 = load ptr, ptr %arrayidx87, align 8
  %descr.i.i312 = getelementptr inbounds i8, ptr %71, i64 56
  %72 = load ptr, ptr %descr.i.i312, align 8
  %type_num.i = getelementptr inbounds i8, ptr %72, i64 28
  %73 = load i32, ptr %type_num.i, align 4
  %nd.i.i313 = getelementptr inbounds i8, ptr %71, i64 24
  %74 = load i32, ptr %nd.i.i313, align 8
  %cmp59.i = icmp sgt i32 %74, 0
  br i1 %cmp59.i, label %for.body.lr.ph.i, label %for.cond.cleanup.i

for.body.lr.ph.i:                                 ; preds = %for.body86
  %dimensions.i.i317 = getelementptr inbounds i8, ptr %71, i64 32
  %75 = load ptr, ptr %dimensions.i.i317, align 8
  %wide.trip.count.i = zext nneg i32 %74 to i64
  br label %for.body.i318

for.cond.cleanup.i:                               ; preds = %for.body.i318, %for.body86
  %count.0.lcssa.i = phi i64 [ 1, %for.body86 ], [ %mul.i, %for.body.i318 ]
  switch i32 %73, label %is_finite.exit [
    i32 12, label %if.then.i316
    i32 11, label %if.then17.i
  ]

for.body.i318:                                    ; preds = %for.body.i318, %for.body.lr.ph.i
  %indvars.iv.i = phi i64 [ 0, %for.body.lr.ph.i ], [ %indvars.iv.next.i, %for.body.i318 ]
  %count.061.i = phi i64 [ 1, %for.body.lr.ph.i ], [ %mul.i, %for.body.i318 ]
  %arrayidx.i319 = getelementptr inbounds i64, ptr %75, i64 %indvars.iv.i
  %76 = load i64, ptr %arrayidx.i319, align 8
  %mul.i = mul nsw i64 %76, %count.061.i
  %indvars.iv.next.i = add nuw nsw i64 %indvars.iv.i, 1
  %exitcond.not.i320 = icmp eq i64 %indvars.iv.next.i, %wide.trip.count.i
  br i1 %exitcond.not.i320, label %for.cond.cleanup.i, label %for.body.i318

if.then.i316:                                     ; preds = %for.cond.cleanup.i
  %data.i.i = getelementptr inbounds i8, ptr %71, i64 16
  %77 = load ptr, ptr %data.i.i, align 8
  %cmp766.i = icmp sgt i64 %count.0.lcssa.i, 0
  br i1 %cmp766.i, label %for.body9.i, label %is_finite.exit

for.body9.i:                                      ; preds = %if.then.i316, %for.body9.i
  %k5.068.i = phi i64 [ %inc14.i, %for.body9.i ], [ 0, %if.then.i316 ]
  %wrong.067.i = phi i32 [ %or.i, %for.body9.i ], [ 0, %if.then.i316 ]
  %arrayidx10.i = getelementptr inbounds double, ptr %77, i64 %k5.068.i
  %78 = load double, ptr %arrayidx10.i, align 8
  %sub.i = fsub double %78, %78
  %cmp12.i = fcmp une double %sub.i, 0.000000e+00
  %lnot.ext.i = zext i1 %cmp12.i to i32
  %or.i = or i32 %wrong.067.i, %lnot.ext.i
  %inc14.i = add nuw nsw i64 %k5.068.i, 1
  %exitcond73.not.i = icmp eq i64 %inc14.i, %count.0.lcssa.i
  br i1 %exitcond73.not.i, label %is_finite.exit, label %for.body9.i

if.then17.i:                                      ; preds = %for.cond.cleanup.i
  %data.i57.i = getelementptr inbounds i8, ptr %71, i64 16
  %79 = load ptr, ptr %data.i57.i, align 8
  %cmp2262.i = icmp sgt i64 %count.0.lcssa.i, 0
  br i1 %cmp2262.i, label %for.body24.i, label %is_finite.exit

for.body24.i:                                     ; preds = %if.then17.i, %for.body24.i
  %k20.064.i = phi i64 [ %inc33.i, %for.body24.i ], [ 0, %if.then17.i ]
  %wrong.163.i = phi i32 [ %or31.i, %for.body24.i ], [ 0, %if.then17.i ]
  %arrayidx25.i315 = getelementptr inbounds float, ptr %79, i64 %k20.064.i
  %80 = load float, ptr %arrayidx25.i315, align 4
  %sub27.i = fsub float %80, %80
  %cmp28.i = fcmp une float %sub27.i, 0.000000e+00
  %lnot.ext30.i = zext i1 %cmp28.i to i32
  %or31.i = or i32 %wrong.163.i, %lnot.ext30.i
  %inc33.i = add nuw nsw i64 %k20.064.i, 1
  %exitcond72.not.i = icmp eq i64 %inc33.i, %count.0.lcssa.i
  br i1 %exitcond72.not.i, label %is_finite.exit, label %for.body24.i

is_finite.exit:                                   ; preds = %for.body24.i, %for.body9.i, %for.cond.cleanup.i, %if.then.i316, %if.then17.i
  %wrong.2.i = phi i32 [ 0, %for.cond.cleanup.i ], [ 0, %if.then.i316 ], [ 0, %if.then17.i ], [ %or.i, %for.body9.i ], [ %or31.i, %for.body24.i ]
  %tobool.not.i314 = icmp eq i32 %wrong.2.i, 0
  %inc91 = add nuw nsw i64 %k80.0413, 1
  %exitcond431.not = icmp eq i64 %inc91, %4
  br i1 %exitcond431.not, label %for.cond.cleanup85, label %land.lhs.true83

if.then96:                                        ; preds = %for.cond.cleanup85
  br i1 %cmp38.not405, label %for.body.i323, label %drop.exit328

for.body.i323:                                    ; preds = %if.then96, %for.body.i323
  %k.04.i324 = phi i64 [ %inc.i326, %for.body.i323 ], [ 0, %if.then96 ]
  %arrayidx.i325 = getelementptr inbounds ptr, ptr %37, i64 %k.04.i324
  %81 = load ptr, ptr %arrayidx.i325, align 8
  call void @Py_DecRef(ptr noundef %81) #4
  %inc.i326 = add nuw nsw i64 %k.04.i324, 1
  %exitcond.not.i327 = icmp eq i64 %inc.i326, %4
  br i1 %exitcond.not.i327, label %drop.exit328, label %for.body.i323

drop.exit328:                                     ; preds = %for.body.i323, %for.cond.cleanup85.thread, %if.then96
  %82 = load ptr, ptr %0, align 8
  %call98 = call ptr @PyObject_Vectorcall(ptr noundef %82, ptr noundef %args, i64 noundef %count, ptr noundef null) #4
  br label %cleanup164

land.rhs104:                                      ; preds = %land.rhs104.lr.ph, %for.inc132
  %record.5418 = phi ptr [ %record.2.lcssa, %land.rhs104.lr.ph ], [ %add.ptr128, %for.inc132 ]
  %k100.0417 = phi i64 [ 0, %land.rhs104.lr.ph ], [ %inc133, %for.inc132 ]
  %83 = load ptr, ptr %wrapper, align 8
  %cmp105.not = icmp eq ptr %83, null
  br i1 %cmp105.not, label %for.end136, label %for.body109

for.body109:                                      ; preds = %land.rhs104
  %84 = load i64, ptr %record.5418, align 8
  %cmp111.not = icmp eq i64 %84, 0
  br i1 %cmp111.not, label %for.inc132, label %if.then113

if.then113:                                       ; preds = %for.body109
  %arrayidx114 = getelementptr inbounds ptr, ptr %37, i64 %k100.0417
  %85 = load ptr, ptr %arrayidx114, align 8
  %call.i329 = call ptr @PyType_GenericAlloc(ptr noundef nonnull %83, i64 noundef 0) #4
  %cmp.i = icmp eq ptr %call.i329, null
  br i1 %cmp.i, label %for.body.i339, label %if.end.i330

if.end.i330:                                      ; preds = %if.then113
  %86 = load i64, ptr %array_slot.i, align 8
  %add.ptr.i331 = getelementptr inbounds i8, ptr %call.i329, i64 %86
  store ptr %85, ptr %add.ptr.i331, align 8
  %87 = load i64, ptr %record.5418, align 8
  %cmp119.i = icmp sgt i64 %87, 0
  br i1 %cmp119.i, label %for.body.lr.ph.i333, label %cleanup121.thread373

for.body.lr.ph.i333:                              ; preds = %if.end.i330
  %slots.i = getelementptr inbounds i8, ptr %record.5418, i64 8
  br label %for.body.i334

for.body.i334:                                    ; preds = %for.body.i334, %for.body.lr.ph.i333
  %k.020.i = phi i64 [ 0, %for.body.lr.ph.i333 ], [ %inc.i336, %for.body.i334 ]
  %arrayidx.i335 = getelementptr inbounds [0 x %struct.anon], ptr %slots.i, i64 0, i64 %k.020.i
  %value.i = getelementptr inbounds i8, ptr %arrayidx.i335, i64 8
  %88 = load ptr, ptr %value.i, align 8
  call void @Py_IncRef(ptr noundef %88) #4
  %89 = load ptr, ptr %value.i, align 8
  %90 = load i64, ptr %arrayidx.i335, align 8
  %add.ptr7.i = getelementptr inbounds i8, ptr %call.i329, i64 %90
  store ptr %89, ptr %add.ptr7.i, align 8
  %inc.i336 = add nuw nsw i64 %k.020.i, 1
  %91 = load i64, ptr %record.5418, align 8
  %cmp1.i = icmp slt i64 %inc.i336, %91
  br i1 %cmp1.i, label %for.body.i334, label %cleanup121.thread373

for.body.i339:                                    ; preds = %if.then113, %for.body.i339
  %k.04.i340 = phi i64 [ %inc.i342, %for.body.i339 ], [ 0, %if.then113 ]
  %arrayidx.i341 = getelementptr inbounds ptr, ptr %37, i64 %k.04.i340
  %92 = load ptr, ptr %arrayidx.i341, align 8
  call void @Py_DecRef(ptr noundef %92) #4
  %inc.i342 = add nuw nsw i64 %k.04.i340, 1
  %exitcond.not.i343 = icmp eq i64 %inc.i342, %4
  br i1 %exitcond.not.i343, label %cleanup164, label %for.body.i339

cleanup121.thread373:                             ; preds = %for.body.i334, %if.end.i330
  store ptr %call.i329, ptr %arrayidx114, align 8
  %.pre = load i64, ptr %record.5418, align 8
  br label %for.inc132

for.inc132:                                       ; preds = %cleanup121.thread373, %for.body109
  %93 = phi i64 [ %.pre, %cleanup121.thread373 ], [ 0, %for.body109 ]
  %mul126 = shl nsw i64 %93, 1
  %add127 = or disjoint i64 %mul126, 1
  %add.ptr128 = getelementptr inbounds i64, ptr %record.5418, i64 %add127
  %inc133 = add nuw nsw i64 %k100.0417, 1
  %exitcond432.not = icmp eq i64 %inc133, %4
  br i1 %exitcond432.not, label %for.end136, label %land.rhs104

for.end136:                                       ; preds = %land.rhs104, %for.inc132, %for.cond.cleanup85.thread, %for.cond101.preheader
  %single = getelementptr inbounds i8, ptr %0, i64 88
  %94 = load i64, ptr %single, align 8
  %tobool137.not = icmp eq i64 %94, 0
  br i1 %tobool137.not, label %if.end140, label %if.then138

if.then138:                                       ; preds = %for.end136
  %95 = load ptr, ptr %37, align 16
  br label %cleanup164

if.end140:                                        ; preds = %for.end136
  %call141 = call ptr @PyTuple_New(i64 noundef %4) #4
  %cmp142 = icmp eq ptr %call141, null
  br i1 %cmp142, label %if.then144, label %for.cond147.preheader

for.cond147.preheader:                            ; preds = %if.end140
  br i1 %cmp38.not405, label %for.body151, label %cleanup164

if.then144:                                       ; preds = %if.end140
  br i1 %cmp38.not405, label %for.body.i347, label %cleanup164

for.body.i347:                                    ; preds = %if.then144, %for.body.i347
  %k.04.i348 = phi i64 [ %inc.i350, %for.body.i347 ], [ 0, %if.then144 ]
  %arrayidx.i349 = getelementptr inbounds ptr, ptr %37, i64 %k.04.i348
  %96 = load ptr, ptr %arrayidx.i349, align 8
  call void @Py_DecRef(ptr noundef %96) #4
  %inc.i350 = add nuw nsw i64 %k.04.i348, 1
  %exitcond.not.i351 = icmp eq i64 %inc.i350, %4
  br i1 %exitcond.not.i351, label %cleanup164, label %for.body.i347

for.body151:                                      ; preds = %for.cond147.preheader, %for.body151
  %k146.0422 = phi i64 [ %inc155, %for.body151 ], [ 0, %for.cond147.preheader ]
  %arrayidx152 = getelementptr inbounds ptr, ptr %37, i64 %k146.0422
  %97 = load ptr, ptr %arrayidx152, align 8
  %call153 = call i32 @PyTuple_SetItem(ptr noundef nonnull %call141, i64 noundef %k146.0422, ptr noundef %97) #4
  %inc155 = add nuw nsw i64 %k146.0422, 1
  %exitcond433.not = icmp eq i64 %inc155, %4
  br i1 %exitcond433.not, label %cleanup164, label %for.body151

cleanup164:                                       ; preds = %for.body.i339, %for.body151, %for.body.i347, %for.body.i286, %if.then14, %if.then45, %for.cond147.preheader, %if.then144, %cleanup76, %drop.exit328, %if.then138, %if.then
  %retval.15 = phi ptr [ %call7, %if.then ], [ %call98, %drop.exit328 ], [ %95, %if.then138 ], [ %call70, %cleanup76 ], [ null, %if.then144 ], [ %call141, %for.cond147.preheader ], [ null, %if.then45 ], [ %call16, %if.then14 ], [ null, %for.body.i286 ], [ null, %for.body.i347 ], [ %call141, %for.body151 ], [ null, %for.body.i339 ]
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
