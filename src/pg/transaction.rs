//! What a backend remembers for one transaction, and not a moment longer.

use std::cell::RefCell;
use std::ffi::c_void;
use std::rc::Rc;

use pgrx::pg_sys;
use workflow_core::token::Proven;

thread_local! {
    /// Who was proved, with the subtransaction that did; the latest counts.
    static PROVEN: RefCell<Vec<(pg_sys::SubTransactionId, Rc<Proven>)>> = const { RefCell::new(Vec::new()) };
}

/// Remembers who was proved until the transaction ends, or the savepoint is rolled back.
pub fn remember(proven: Proven) {
    // SAFETY: a number of the running transaction.
    let here = unsafe { pg_sys::GetCurrentSubTransactionId() };
    PROVEN.with_borrow_mut(|stack| {
        // One of the same subtransaction can never come back.
        if stack
            .last()
            .is_some_and(|(subtransaction, _)| *subtransaction == here)
        {
            stack.pop();
        }
        stack.push((here, Rc::new(proven)));
    });
}

/// Who was proved in this transaction.
pub fn proven() -> Option<Rc<Proven>> {
    PROVEN.with_borrow(|stack| stack.last().map(|(_, proven)| Rc::clone(proven)))
}

/// Watches transactions end. Called once, when the library is loaded.
pub fn watch() {
    // SAFETY: the callbacks only change a list of this backend, and raise nothing.
    unsafe {
        pg_sys::RegisterXactCallback(Some(ended), std::ptr::null_mut());
        pg_sys::RegisterSubXactCallback(Some(subtransaction_ended), std::ptr::null_mut());
    }
}

unsafe extern "C-unwind" fn ended(event: pg_sys::XactEvent::Type, _: *mut c_void) {
    use pg_sys::XactEvent::{
        XACT_EVENT_ABORT, XACT_EVENT_COMMIT, XACT_EVENT_PARALLEL_ABORT, XACT_EVENT_PARALLEL_COMMIT,
        XACT_EVENT_PREPARE,
    };
    if matches!(
        event,
        XACT_EVENT_ABORT
            | XACT_EVENT_COMMIT
            | XACT_EVENT_PARALLEL_ABORT
            | XACT_EVENT_PARALLEL_COMMIT
            | XACT_EVENT_PREPARE
    ) {
        PROVEN.with_borrow_mut(Vec::clear);
    }
}

unsafe extern "C-unwind" fn subtransaction_ended(
    event: pg_sys::SubXactEvent::Type,
    this: pg_sys::SubTransactionId,
    parent: pg_sys::SubTransactionId,
    _: *mut c_void,
) {
    use pg_sys::SubXactEvent::{SUBXACT_EVENT_ABORT_SUB, SUBXACT_EVENT_COMMIT_SUB};
    PROVEN.with_borrow_mut(|stack| match event {
        SUBXACT_EVENT_ABORT_SUB => stack.retain(|(subtransaction, _)| *subtransaction != this),
        SUBXACT_EVENT_COMMIT_SUB => {
            for (subtransaction, _) in stack.iter_mut() {
                if *subtransaction == this {
                    *subtransaction = parent;
                }
            }
        }
        _ => {}
    });
}
