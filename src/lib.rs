//! `workflow` decides, inside PostgreSQL and in one transaction, which of several competing commands
//! on a business process wins.
//!
//! Dependencies point one way: `api` (the SQL functions) calls `engine` (how a command runs), which
//! asks `workflow-core` (what it does) and `store` (the rows), which rest on `pg` (PostgreSQL).

mod api;
mod engine;
mod pg;
mod settings;
mod store;

pgrx::pg_module_magic!();

/// Called by the server when it loads the library.
#[pgrx::pg_guard]
pub extern "C-unwind" fn _PG_init() {
    settings::define();
    pg::installation::watch();
    pg::backend::watch_rights();
    pg::direct::watch();
    pg::transaction::watch();
    engine::worker::register();
}

background_workers! {
    "workflow_launcher" => engine::worker::launch,
    "workflow_worker" => engine::worker::work,
}

sql_functions! {
    "wf_define" => api::define::define,
    "wf_validate" => api::define::validate,
    "wf_export" => api::define::export,
    "wf_diagram" => api::diagram::diagram,
    "wf_activate" => api::define::activate,
    "wf_cancel" => api::cancel::cancel,
    "wf_override" => api::overrule::overrule,
    "wf_adopt" => api::adopt::adopt,
    "wf_migrate" => api::migrate::migrate,
    "wf_purge" => api::purge::purge,
    "wf_start" => api::start::start,
    "wf_transition" => api::transition::transition,
    "wf_try_transition" => api::transition::try_transition,
    "wf_transition_many" => api::bulk::transition_many,
    "wf_check" => api::transition::check,
    "wf_send" => api::send::send,
    "wf_supersede_material" => api::supersede::supersede_material,
    "wf_limit_set" => api::limit::set,
    "wf_lock" => api::send::lock,
    "wf_get" => api::query::get,
    "wf_decide" => api::decide::decide,
    "wf_task_claim" => api::task::claim,
    "wf_task_release" => api::task::release,
    "wf_task_assign" => api::task::assign,
    "wf_task_delegate" => api::task::delegate,
    "wf_task_transfer" => api::task::transfer,
    "wf_seat_add" => api::seat::add,
    "wf_seat_remove" => api::seat::remove,
    "wf_withdraw" => api::seat::withdraw,
    "wf_resource_set" => api::resource::set,
    "wf_resource_consume" => api::resource::consume,
    "wf_resource_restock" => api::resource::restock,
    "wf_resource_consume_many" => api::resource::consume_many,
    "wf_run_due" => api::timer::run_due,
    "wf_worklist" => api::worklist::worklist,
    "wf_explain" => api::worklist::explain,
    "wf_outbox_subscribe" => api::delivery::subscribe,
    "wf_outbox_unsubscribe" => api::delivery::unsubscribe,
    "wf_outbox_claim" => api::delivery::claim,
    "wf_outbox_ack" => api::delivery::ack,
    "wf_outbox_nack" => api::delivery::nack,
    "wf_outbox_requeue" => api::delivery::requeue,
    "wf_outbox_skip" => api::delivery::skip,
    "wf_inbox_accept" => api::delivery::accept,
    "wf_lease_acquire" => api::lease::acquire,
    "wf_lease_acquire_many" => api::lease::acquire_many,
    "wf_lease_steal" => api::lease::steal,
    "wf_lease_renew" => api::lease::renew,
    "wf_lease_release" => api::lease::release,
    "wf_lease_inspect" => api::lease::inspect,
    "wf_lease_ends_at" => api::lease::ends_at,
    "wf_work_take" => api::work::take,
    "wf_work_finish" => api::work::finish,
    "wf_work_fail" => api::work::fail,
    "wf_work_extend" => api::work::extend,
    "wf_work_give_back" => api::work::give_back,
    "wf_current_tenant" => api::identity::current_tenant,
    "wf_current_actor" => api::identity::current_actor,
    "wf_outer_role" => api::identity::outer_role,
    "wf_authenticate" => api::identity::authenticate,
    "wf_as" => api::identity::as_person,
    "wf_whoami" => api::identity::whoami,
    "wf_member_set" => api::identity::member_set,
    "wf_member_remove" => api::identity::member_remove,
    "wf_contention_counts" => api::contention::counts,
    "wf_verify" => api::upkeep::verify,
    "wf_version" => api::upkeep::version,
    "wf_refuse_change" => api::upkeep::refuse_change,
}
