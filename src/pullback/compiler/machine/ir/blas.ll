; Made from c/blas.c by `make native`.

@inside = internal unnamed_addr global i64 0, align 8
@before = internal unnamed_addr global i32 0, align 4
@is_locked = internal global i64 0, align 8

define void @NAME_enter() local_unnamed_addr #0 {
entry:
  br label %while.cond.i

while.cond.i:                                     ; preds = %while.cond.i, %entry
  %0 = cmpxchg weak ptr @is_locked, i64 0, i64 1 acq_rel monotonic, align 8
  %1 = extractvalue { i64, i1 } %0, 1
  br i1 %1, label %lock.exit, label %while.cond.i

lock.exit:                                        ; preds = %while.cond.i
  %2 = load i64, ptr @inside, align 8
  %inc = add nsw i64 %2, 1
  store i64 %inc, ptr @inside, align 8
  %cmp = icmp eq i64 %2, 0
  br i1 %cmp, label %if.then, label %if.end3

if.then:                                          ; preds = %lock.exit
  %call = tail call i32 @pullback_openblas_get_num_threads() #2
  store i32 %call, ptr @before, align 4
  %cmp1 = icmp sgt i32 %call, 1
  br i1 %cmp1, label %if.then2, label %if.end3

if.then2:                                         ; preds = %if.then
  tail call void @pullback_openblas_set_num_threads(i32 noundef 1) #2
  br label %if.end3

if.end3:                                          ; preds = %if.then, %if.then2, %lock.exit
  store atomic i64 0, ptr @is_locked release, align 8
  ret void
}

declare i32 @pullback_openblas_get_num_threads() local_unnamed_addr #1

declare void @pullback_openblas_set_num_threads(i32 noundef) local_unnamed_addr #1

define void @NAME_leave() local_unnamed_addr #0 {
entry:
  br label %while.cond.i

while.cond.i:                                     ; preds = %while.cond.i, %entry
  %0 = cmpxchg weak ptr @is_locked, i64 0, i64 1 acq_rel monotonic, align 8
  %1 = extractvalue { i64, i1 } %0, 1
  br i1 %1, label %lock.exit, label %while.cond.i

lock.exit:                                        ; preds = %while.cond.i
  %2 = load i64, ptr @inside, align 8
  %dec = add nsw i64 %2, -1
  store i64 %dec, ptr @inside, align 8
  %cmp = icmp eq i64 %dec, 0
  %3 = load i32, ptr @before, align 4
  %cmp1 = icmp sgt i32 %3, 1
  %or.cond = select i1 %cmp, i1 %cmp1, i1 false
  br i1 %or.cond, label %if.then, label %if.end

if.then:                                          ; preds = %lock.exit
  tail call void @pullback_openblas_set_num_threads(i32 noundef %3) #2
  br label %if.end

if.end:                                           ; preds = %if.then, %lock.exit
  store atomic i64 0, ptr @is_locked release, align 8
  ret void
}

define void @NAME_forget() local_unnamed_addr #0 {
entry:
  store atomic i64 0, ptr @is_locked seq_cst, align 8
  %0 = load i64, ptr @inside, align 8
  %cmp.not = icmp eq i64 %0, 0
  br i1 %cmp.not, label %if.end, label %if.then

if.then:                                          ; preds = %entry
  store i64 1, ptr @inside, align 8
  br label %while.cond.i.i

while.cond.i.i:                                   ; preds = %while.cond.i.i, %if.then
  %1 = cmpxchg weak ptr @is_locked, i64 0, i64 1 acq_rel monotonic, align 8
  %2 = extractvalue { i64, i1 } %1, 1
  br i1 %2, label %lock.exit.i, label %while.cond.i.i

lock.exit.i:                                      ; preds = %while.cond.i.i
  %3 = load i64, ptr @inside, align 8
  %dec.i = add nsw i64 %3, -1
  store i64 %dec.i, ptr @inside, align 8
  %cmp.i = icmp eq i64 %dec.i, 0
  %4 = load i32, ptr @before, align 4
  %cmp1.i = icmp sgt i32 %4, 1
  %or.cond.i = select i1 %cmp.i, i1 %cmp1.i, i1 false
  br i1 %or.cond.i, label %if.then.i, label %leave.exit

if.then.i:                                        ; preds = %lock.exit.i
  tail call void @pullback_openblas_set_num_threads(i32 noundef %4) #2
  br label %leave.exit

leave.exit:                                       ; preds = %lock.exit.i, %if.then.i
  store atomic i64 0, ptr @is_locked release, align 8
  br label %if.end

if.end:                                           ; preds = %leave.exit, %entry
  ret void
}

attributes #0 = { nounwind }
attributes #1 = { nounwind }
attributes #2 = { nounwind }
