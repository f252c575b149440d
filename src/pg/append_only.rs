//! The guard of append-only tables, and the one statement that it lets through.

use std::cell::Cell;

use pgrx::pg_sys;

use super::call::Call;

thread_local! {
    /// The table from which the next DELETE may remove rows.
    static OPEN: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Lets one DELETE from this table of ours through, which `statement` runs. What a trigger of the
/// user's does in the meantime is refused as ever.
pub fn permit_delete<T>(table: &'static str, statement: impl FnOnce() -> T) -> T {
    struct Close;
    impl Drop for Close {
        fn drop(&mut self) {
            OPEN.set(None);
        }
    }
    OPEN.set(Some(table));
    let _close = Close;
    statement()
}

/// Whether the statement that fired this trigger is the one that was let through.
pub fn is_permitted(call: &Call) -> bool {
    let Some(table) = OPEN.get() else {
        return false;
    };
    // SAFETY: the context of a call is a node; if it is TriggerData, relation and event are those
    // of the statement, and a relation's name is a C string.
    let permitted = unsafe {
        let context = (*call.fcinfo()).context;
        if context.is_null() || (*context).type_ != pg_sys::NodeTag::T_TriggerData {
            return false;
        }
        let trigger = context.cast::<pg_sys::TriggerData>();
        let operation = (*trigger).tg_event & pg_sys::TRIGGER_EVENT_OPMASK;
        let name = (*(*(*trigger).tg_relation).rd_rel).relname.data.as_ptr();
        operation == pg_sys::TRIGGER_EVENT_DELETE
            && std::ffi::CStr::from_ptr(name).to_bytes() == table.as_bytes()
    };
    if permitted {
        OPEN.set(None);
    }
    permitted
}
