//! Rows added and replaced.

use std::ptr;

use pgrx::pg_sys::{self, Datum, Oid};

use super::super::spi::Row;
use super::super::text;
use super::super::value::Value;
use super::look_up::Place;
use super::shape::{Kind, Open};

/// What PostgreSQL's helpers need around one row: an executor's state and memory, the table as a
/// target, and a slot. It is given back when dropped, or by the abort after an error.
struct Target {
    state: *mut pg_sys::EState,
    result: *mut pg_sys::ResultRelInfo,
    slot: *mut pg_sys::TupleTableSlot,
    outside: pg_sys::MemoryContext,
}

impl Drop for Target {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        // SAFETY: what `begin` made; indexes are closed if they were opened.
        unsafe {
            if !(*self.result).ri_IndexRelationDescs.is_null() {
                pg_sys::ExecCloseIndices(self.result);
            }
            pg_sys::ExecDropSingleTupleTableSlot(self.slot);
            pg_sys::MemoryContextSwitchTo(self.outside);
            pg_sys::FreeExecutorState(self.state);
            pg_sys::CommandCounterIncrement();
        }
    }
}

impl Target {
    /// # Safety
    /// The relation is open, and stays so while the target lives.
    unsafe fn begin(relation: pg_sys::Relation) -> Target {
        // SAFETY: promised by the caller. A target without a range table entry (index 0) is what
        // PostgreSQL makes for relations that no query names.
        unsafe {
            let state = pg_sys::CreateExecutorState();
            let outside = pg_sys::MemoryContextSwitchTo((*state).es_query_cxt);
            (*state).es_output_cid = pg_sys::GetCurrentCommandId(true);
            let result =
                pg_sys::palloc0(size_of::<pg_sys::ResultRelInfo>()).cast::<pg_sys::ResultRelInfo>();
            (*result).type_ = pg_sys::NodeTag::T_ResultRelInfo;
            pg_sys::InitResultRelInfo(result, relation, 0, ptr::null_mut(), 0);
            let slot = pg_sys::MakeSingleTupleTableSlot(
                (*relation).rd_att,
                &raw const pg_sys::TTSOpsVirtual,
            );
            Target {
                state,
                result,
                slot,
                outside,
            }
        }
    }

    /// # Safety
    /// The column's number is between 1 and the number of columns, and the value of its type.
    unsafe fn put(&self, column: i16, (value, is_null): (Datum, bool)) {
        // SAFETY: the slot has room for each column.
        unsafe {
            let index = column as usize - 1;
            *(*self.slot).tts_values.add(index) = value;
            *(*self.slot).tts_isnull.add(index) = is_null;
        }
    }

    /// # Safety
    /// An expression without variables, planned.
    unsafe fn evaluate(&self, expression: *mut pg_sys::Expr) -> (Datum, bool) {
        // SAFETY: promised by the caller; the expression's state lies in the executor's memory.
        unsafe {
            let mut context = (*self.state).es_per_tuple_exprcontext;
            if context.is_null() {
                context = pg_sys::MakePerTupleExprContext(self.state);
            }
            let state = pg_sys::ExecInitExpr(expression, ptr::null_mut());
            let mut is_null = false;
            let value = pg_sys::ExecEvalExpr(state, context, &mut is_null);
            (value, is_null)
        }
    }
}

impl Open {
    /// Adds a row with these values of the table's columns, and the defaults of the others.
    pub fn insert(&self, values: &[Value<'_>]) {
        // SAFETY: values are of the types of their columns (see `describe`); the slot is filled
        // whole before it is stored.
        unsafe {
            let target = Target::begin(self.relation);
            for number in 1..=(*(*self.relation).rd_att).natts {
                target.put(number as i16, (Datum::from(0usize), true));
            }
            for (number, default) in &self.shape.defaults {
                target.put(*number, target.evaluate(*default));
            }
            for (index, value) in values.iter().enumerate() {
                target.put(self.shape.numbers[index], self.datum(index, value));
            }
            pg_sys::ExecStoreVirtualTuple(target.slot);
            pg_sys::ExecOpenIndices(target.result, false);
            pg_sys::ExecSimpleRelationInsert(target.result, target.state, target.slot);
        }
    }

    /// Replaces values of a row, if it is free and is still the newest version of what was found at
    /// its place, which `is_same` confirms. Never waits.
    pub fn replace(
        &self,
        place: Place,
        is_same: impl FnOnce(&Row) -> bool,
        changes: &[(usize, Value<'_>)],
    ) -> bool {
        let mut tuple = pg_sys::HeapTupleData {
            t_self: place.tid(),
            ..Default::default()
        };
        let mut buffer = 0;
        let mut failure = pg_sys::TM_FailureData::default();
        // SAFETY: the active snapshot is older than the look-up that found the row, so that its
        // place has not been given to another; the tuple is pinned by the buffer until released.
        unsafe {
            let locked = pg_sys::heap_lock_tuple(
                self.relation,
                &mut tuple,
                pg_sys::GetCurrentCommandId(true),
                pg_sys::LockTupleMode::LockTupleNoKeyExclusive,
                pg_sys::LockWaitPolicy::LockWaitSkip,
                false,
                &mut buffer,
                &mut failure,
            );
            let ours = locked == pg_sys::TM_Result::TM_Ok && is_same(&self.columns_of(&mut tuple));
            if ours {
                self.update(&mut tuple, changes);
            }
            pg_sys::ReleaseBuffer(buffer);
            ours
        }
    }

    /// # Safety
    /// The tuple is pinned, and locked by this transaction.
    unsafe fn update(&self, tuple: &mut pg_sys::HeapTupleData, changes: &[(usize, Value<'_>)]) {
        // SAFETY: promised by the caller. As ExecSimpleRelationUpdate does, less triggers, which
        // `open` has looked for, and less opening indexes that a HOT update leaves alone.
        unsafe {
            let target = Target::begin(self.relation);
            let (values, nulls) = self.deform(tuple);
            for (index, (value, is_null)) in values.into_iter().zip(nulls).enumerate() {
                target.put(index as i16 + 1, (value, is_null));
            }
            for (index, value) in changes {
                target.put(self.shape.numbers[*index], self.datum(*index, value));
            }
            pg_sys::ExecStoreVirtualTuple(target.slot);
            pg_sys::CheckCmdReplicaIdentity(self.relation, pg_sys::CmdType::CMD_UPDATE);
            if !(*(*self.relation).rd_att).constr.is_null() {
                pg_sys::ExecConstraints(target.result, target.slot, target.state);
            }
            replace_in_heap(self.relation, tuple, &target);
        }
    }

    /// # Safety
    /// The value is of the column's type, or a text for an enum; called in memory that lives as long
    /// as the datum is used.
    unsafe fn datum(&self, index: usize, value: &Value<'_>) -> (Datum, bool) {
        match (&self.table.columns[index].kind, value) {
            (Kind::Enum(_), Value::Text(label)) => {
                let label = text::to_c_string(label);
                // SAFETY: enum_in takes a C string and the type's oid.
                let datum = unsafe {
                    pg_sys::OidInputFunctionCall(
                        Oid::from(pg_sys::F_ENUM_IN),
                        label,
                        self.shape.types[index],
                        -1,
                    )
                };
                (datum, false)
            }
            (_, value) => value.to_datum(),
        }
    }
}

/// # Safety
/// The target's slot holds the new version of the tuple, which this transaction has locked.
unsafe fn replace_in_heap(
    relation: pg_sys::Relation,
    tuple: &mut pg_sys::HeapTupleData,
    target: &Target,
) {
    // SAFETY: promised by the caller. Indexes are opened only where the new version needs entries.
    unsafe {
        let snapshot = pg_sys::GetActiveSnapshot();
        #[cfg(feature = "pg15")]
        {
            let mut indexed = false;
            let tid = &mut tuple.t_self;
            pg_sys::simple_table_tuple_update(relation, tid, target.slot, snapshot, &mut indexed);
            if indexed {
                pg_sys::ExecOpenIndices(target.result, false);
                pg_sys::ExecInsertIndexTuples(
                    target.result,
                    target.slot,
                    target.state,
                    true,
                    false,
                    ptr::null_mut(),
                    ptr::null_mut(),
                );
            }
        }
        #[cfg(not(feature = "pg15"))]
        {
            use pg_sys::TU_UpdateIndexes::{TU_None, TU_Summarizing};
            let mut indexed = TU_None;
            let tid = &mut tuple.t_self;
            pg_sys::simple_table_tuple_update(relation, tid, target.slot, snapshot, &mut indexed);
            if indexed != TU_None {
                pg_sys::ExecOpenIndices(target.result, false);
                pg_sys::ExecInsertIndexTuples(
                    target.result,
                    target.slot,
                    target.state,
                    true,
                    false,
                    ptr::null_mut(),
                    ptr::null_mut(),
                    indexed == TU_Summarizing,
                );
            }
        }
    }
}
