/* Made from the migrated database by `npm run generate:tables`; a test compares it. */
import type { ColumnType } from 'kysely';

/** Times come as text, as PostgreSQL prints them, and go in as text or as dates. */
type Time = ColumnType<string, string | Date>;
/** Larger than a number may be: comes as text. */
type Big = ColumnType<string, string | number | bigint>;
declare global {
  /** What JSON and lists are, by `table.column`: each feature tells it of its own. */
  interface ColumnTypes {}
}
type Told<C, Else> = C extends keyof ColumnTypes ? ColumnTypes[C] : Else;
/** Goes in as text, or as what the driver makes text of. */
type Json<C> = ColumnType<Told<C, unknown>, unknown>;
/** It has a default, and may be left out. */
type Generated<T> =
  T extends ColumnType<infer S, infer I, infer U> ? ColumnType<S, I | undefined, U> : ColumnType<T, T | undefined, T>;

export interface Schema {
  accepted_job: {
    id: string; queue: string; name: string; payload: Json<'accepted_job.payload'>; holder: string | null;
    failures: Generated<number>; lost: Generated<number>; reason: string | null; look_at: Time;
    created_at: Time; failed_at: Time | null;
  };
  action_run: {
    id: string; action: string; effect: string | null; dry_run: boolean;
    status: 'running' | 'completed' | 'error' | 'validated' | 'refused'; surface: string; caller_kind: string;
    caller_id: string; actor_type: string; actor_id: string; actor_name: string;
    on_behalf_of_id: string | null; credential_type: string; credential_id: string;
    organization_id: string | null; workspace_id: string | null; request_id: string | null;
    input: Json<'action_run.input'> | null; output: Json<'action_run.output'> | null;
    error: Json<'action_run.error'> | null; started_at: Time; finished_at: Time | null;
    duration_ms: number | null;
  };
  agent_instructions: {
    organization_id: string; instructions: string; updated_by: string; updated_at: Time;
  };
  api_key: {
    id: string; user_id: string | null; name: string; hash: string; hint: string;
    organization_id: string | null; scopes: Told<'api_key.scopes', string[]> | null;
    workspace_ids: Told<'api_key.workspace_ids', string[]> | null; expires_at: Time | null;
    last_used_at: Time | null; revoked_at: Time | null; created_at: Time; service_account_id: string | null;
    created_by: string; replaced_by: string | null;
  };
  approval: {
    id: string; subject_kind: 'run_tool_call' | 'mcp_call'; organization_id: string | null;
    workspace_id: string | null; chat_id: string | null; run_id: string | null; step: number | null;
    position: number | null; call_id: string | null; tool: string;
    effect: 'read' | 'write' | 'destructive' | 'expose'; input: Json<'approval.input'> | null;
    requested_by: string; status: 'pending' | 'allowed' | 'denied' | 'expired' | 'cancelled';
    scope: 'once' | 'run' | null; note: string | null; decided_by: string | null; decided_at: Time | null;
    used_at: Time | null; expires_at: Time; created_at: Time; client_name: string | null;
    credential_id: string | null; reminders: number | null;
  };
  approval_policy: {
    workspace_id: string; read: 'auto' | 'ask' | 'deny'; write: 'auto' | 'ask' | 'deny';
    destructive: 'auto' | 'ask' | 'deny'; deadline_seconds: number; updated_by: string; updated_at: Time;
    expose: Generated<'ask' | 'deny'>;
  };
  attachment: {
    chat_id: string; hash: string; bytes: Buffer; created_at: Time; workspace_id: string | null;
    size: Big | null;
  };
  attempt_count: {
    key: string; points: number; expire: Big | null;
  };
  audit_entry: {
    id: string; time: Time; actor_type: string | null; actor_id: string | null; actor_name: string | null;
    on_behalf_of_id: string | null; credential_type: string | null; credential_id: string | null;
    action: string; target_type: string; target_id: string; organization_id: string | null;
    workspace_id: string | null; details: Json<'audit_entry.details'>; address: string | null;
    user_agent: string | null; request_id: string | null;
  };
  automation_blob: {
    deployment_id: string; sha256: string; content: Buffer;
  };
  automation_change_cursor: {
    workspace_id: string; cursor: Big;
  };
  automation_delivery: {
    id: string; workspace_id: string; deployment_id: string | null; trigger_id: string | null;
    version: number | null; kind: 'manual' | 'schedule' | 'webhook' | 'file' | 'notification';
    key: string | null; state: 'accepted' | 'filtered' | 'duplicate' | 'skipped' | 'held';
    reason: string | null; headers: Generated<Json<'automation_delivery.headers'>>;
    sealed_payload: Buffer | null; payload_bytes: Generated<number>;
    chain: Generated<Told<'automation_delivery.chain', string[]>>; untrusted: Generated<boolean>;
    scheduled_for: Time | null; held_until: Time | null; received_at: Time; run_id: string | null;
    depth: Generated<number>;
  };
  automation_deployment: {
    id: string; organization_id: string; workspace_id: string; file_path: string;
    state: 'live' | 'paused' | 'stopped'; paused_reason: string | null; version: number; last_version: number;
    actor: Json<'automation_deployment.actor'>; chat_id: string | null; failures_in_row: Generated<number>;
    last_success_at: Time | null; alerted_at: Time | null; created_by: string; created_at: Time;
    updated_at: Time; loops_reported_at: Time | null; silent_at: Time | null;
    drift: Generated<'none' | 'changed' | 'missing' | 'invalid'>; drift_at: Generated<Time>;
  };
  automation_event: {
    seq: Generated<Big>; workspace_id: string; id: Big | null; type: string;
    data: Json<'automation_event.data'>; created_at: Time;
  };
  automation_event_log: {
    workspace_id: string; last_event: Generated<Big>; pruned_through: Generated<Big>;
  };
  automation_output: {
    run_id: string; number: number; text: string; created_at: Time;
  };
  automation_run: {
    id: string; organization_id: string; workspace_id: string; deployment_id: string | null;
    version: number | null; draft: Json<'automation_run.draft'> | null; file_path: string;
    delivery_id: string; trigger_kind: 'manual' | 'schedule' | 'webhook' | 'file' | 'notification';
    kind: 'agent' | 'script'; state: 'queued' | 'starting' | 'running' | 'done';
    status: 'pending' | 'completed' | 'error'; stop_reason: string | null; error: string | null; lane: string;
    lane_max: number; actor: Json<'automation_run.actor'>; holder: string | null; chat_id: string | null;
    call_id: string | null; output: Json<'automation_run.output'> | null; log: string | null;
    exit_code: number | null; cost_usd: number | null;
    chain: Generated<Told<'automation_run.chain', string[]>>; attempt: Generated<number>;
    replay_of: string | null; cancelled_at: Time | null; queued_at: Time; started_at: Time | null;
    finished_at: Time | null; scheduled_for: Time | null; output_bytes: Generated<number>;
    not_before: Time | null; is_asked: Generated<boolean>; tries: Generated<Json<'automation_run.tries'>>;
  };
  automation_seen: {
    trigger_id: string; key: string; delivery_id: string; seen_at: Time;
  };
  automation_trigger: {
    id: string; deployment_id: string; position: number | null;
    kind: 'schedule' | 'webhook' | 'file' | 'notification'; config: Json<'automation_trigger.config'>;
    token_hash: string | null; secrets: Generated<Json<'automation_trigger.secrets'>>; next_at: Time | null;
    next_slot: Time | null; cursor: Big | null; gathered: Json<'automation_trigger.gathered'> | null;
    gathering_since: Time | null; fire_at: Time | null; created_at: Time; old_token_hash: string | null;
    old_token_until: Time | null; since: Time | null;
  };
  automation_version: {
    deployment_id: string; number: number; digest: string; files: Json<'automation_version.files'>;
    definition: Json<'automation_version.definition'>; agent: Json<'automation_version.agent'> | null;
    deployed_by: string; created_at: Time;
  };
  budget: {
    scope_id: string; organization_id: string; workspace_id: string | null; monthly_usd: Big | null;
    hard_stop: boolean; alerts: Told<'budget.alerts', number[]>; updated_at: Time;
    is_default: Generated<boolean>;
  };
  budget_alert: {
    scope_id: string; period: Time; percent: number; organization_id: string; workspace_id: string | null;
    spent_usd: Big; monthly_usd: Big; created_at: Time; mailed_at: Time | null;
  };
  budget_reservation: {
    run_id: string; attempt: number; step: number; organization_id: string; workspace_id: string | null;
    amount_usd: Big; expires_at: Time;
  };
  chat: {
    id: string; title: string; organization_id: string; workspace_id: string | null;
    agent_name: string | null; model: string | null; pinned: boolean; archived: boolean; created_by: string;
    created_at: Time; updated_at: Time; last_message_at: Time | null; task_of: string | null;
  };
  chat_summary: {
    id: Generated<string>; chat_id: string; run_id: string; step: number; through_run: Big;
    through_message: Big; content: Json<'chat_summary.content'>; files: Told<'chat_summary.files', string[]>;
    message_count: number; tokens_before: number; tokens_after: number; model: string | null;
    usage: Json<'chat_summary.usage'> | null; cost_usd: number | null; created_at: Time;
  };
  chore: {
    name: string; due_at: Time; holder: string | null;
  };
  connection_grant: {
    connection_id: string; workspace_id: string; methods: Told<'connection_grant.methods', string[]>;
    paths: Told<'connection_grant.paths', string[]>; granted_by: string; created_at: Time;
    repositories: Generated<Told<'connection_grant.repositories', string[]>>;
    permissions: Generated<Json<'connection_grant.permissions'>>;
  };
  connector: {
    id: string; organization_id: string; user_id: string | null; name: string; slug: string; url: string;
    auth: 'none' | 'bearer' | 'headers' | 'oauth'; per_user: boolean; authorization_server: string | null;
    client_id: string | null; client_secret_id: string | null; is_disabled: Generated<boolean>;
    fault: string | null; server: Json<'connector.server'> | null; instructions: string | null;
    approved_instructions: string | null; revision: Generated<number>; checked_at: Time | null;
    created_by: string | null; created_at: Time; updated_at: Time;
  };
  connector_credential: {
    id: string; connector_id: string; user_id: string | null; token_set_id: string; issuer: string | null;
    resource: string | null; client: Json<'connector_credential.client'> | null; review: string | null;
    created_at: Time; updated_at: Time;
  };
  connector_grant: {
    connector_id: string; workspace_id: string; tools: Told<'connector_grant.tools', string[]> | null;
    granted_by: string | null; created_at: Time;
  };
  connector_tool: {
    connector_id: string; name: string; definition: Json<'connector_tool.definition'>; hash: string;
    approved: Json<'connector_tool.approved'> | null; approved_hash: string | null;
    state: 'new' | 'approved' | 'changed' | 'removed' | 'blocked'; effect: 'read' | 'write' | 'destructive';
    approved_by: string | null; approved_at: Time | null; seen_at: Time;
  };
  digest: {
    id: string; user_id: string; channel: string; send_at: Time; state: 'open' | 'queued' | 'done';
  };
  email_token: {
    hash: string; user_id: string; purpose: 'reset' | 'verify' | 'email'; created_at: Time; expires_at: Time;
    email: string | null;
  };
  exec_token: {
    id: string; hash: string; actor: Json<'exec_token.actor'>; workspace_id: string; caller_kind: string;
    caller_id: string; actions: Told<'exec_token.actions', string[]>; created_at: Time; expires_at: Time;
    revoked_at: Time | null;
  };
  file_invitation: {
    id: string; workspace_id: string; path: string; email: string; role: 'viewer' | 'editor';
    token_hash: string; invited_by: string; accepted_by: string | null; accepted_at: Time | null;
    created_at: Time; expires_at: Time;
  };
  file_version: {
    seq: Generated<Big>; id: string; workspace_id: string; path: string;
    kind: 'found' | 'created' | 'modified' | 'deleted' | 'moved'; from_path: string | null; size: Big | null;
    etag: string | null; executable: boolean; blob: string | null;
    unkept: 'deleted' | 'too_large' | 'overwritten' | 'full' | null; replaced: boolean;
    previous_id: string | null; change_seq: Big | null; writer_type: string | null; writer_id: string | null;
    run_id: string | null; changed_at: Time; revision: string | null;
  };
  form: {
    id: string; workspace_id: string; path: string; token_hash: string; sealed_token: string;
    password_hash: string | null; expires_at: Time | null; paused_at: Time | null;
    definition: Json<'form.definition'>; definition_hash: string; columns: Json<'form.columns'>;
    broken: string | null; csv_file: string | null; purged: Generated<number>; trouble: string | null;
    retry_at: Time | null; queued: Generated<boolean>; created_by: string; created_at: Time; updated_at: Time;
  };
  form_submission: {
    id: string; form_id: string; submission_key: string; data: Json<'form_submission.data'>;
    files: Generated<Json<'form_submission.files'>>; bytes: Generated<Big>;
    state: 'received' | 'written' | 'spam'; reason: string | null; address_hash: string;
    received_at: Generated<Time>; written_at: Time | null;
  };
  form_used_challenge: {
    challenge: string; expires_at: Time;
  };
  git_repo: {
    id: string; workspace_id: string; path: string; url: string; branch: string | null; depth: number | null;
    connection_id: string | null; state: 'cloning' | 'ready' | 'missing' | 'error'; reason: string | null;
    operation_id: string | null; last_pull_at: Time | null; last_push_at: Time | null; created_by: string;
    created_at: Time; updated_at: Time;
  };
  history_commit: {
    id: Generated<Big>; workspace_id: string; sha: string; through: Big; committed_at: Time;
  };
  host_name: {
    source: 'slug' | 'custom'; name: string; kind: 'site' | 'server'; target_id: string;
    workspace_id: string | null; state: 'active' | 'released' | 'pending' | 'verified' | 'failed';
    created_by: string | null; created_at: Generated<Time>; released_at: Time | null; proof: string | null;
    checked_at: Time | null; verified_at: Time | null; failing_since: Time | null; problem: string | null;
  };
  hosted_access: {
    target_kind: 'site' | 'server'; target_id: string; workspace_id: string;
    mode: 'private' | 'workspace' | 'org' | 'restricted' | 'link' | 'password' | 'public';
    emails: Generated<Told<'hosted_access.emails', string[]>>; password_hash: string | null;
    link_hash: string | null; sealed_link: string | null; identity: Generated<'none' | 'id' | 'profile'>;
    allowed_origins: Generated<Told<'hosted_access.allowed_origins', string[]>>;
    public_preview: Json<'hosted_access.public_preview'> | null; versions: Generated<'workspace' | 'same'>;
    policy_version: Generated<Big>; updated_by: string; created_at: Generated<Time>;
    updated_at: Generated<Time>;
  };
  hosted_token: {
    id: string; hash: string; target_kind: string; target_id: string; workspace_id: string; name: string;
    created_by: string; created_at: Generated<Time>; expires_at: Time;
  };
  hosted_visit: {
    id: string; hash: string; target_kind: string; target_id: string; workspace_id: string;
    how: 'sign_in' | 'password' | 'link'; user_id: string | null; session_id: string | null;
    policy_version: Big; created_at: Generated<Time>; expires_at: Time;
  };
  idempotent_request: {
    credential_id: string; lookup: Buffer; fingerprint: Buffer; holder: string; expires_at: Time;
    answer: Buffer | null; commits_answer: Generated<boolean>; process_id: string | null;
  };
  installation: {
    id: Generated<number>; setup_token_hash: string | null; created_at: Time; sandbox_uid_base: Big | null;
  };
  integration_client: {
    organization_id: string; provider: string; client_id: string; secret_id: string | null;
    updated_by: string; updated_at: Time;
  };
  integration_connection: {
    id: string; organization_id: string; user_id: string | null; provider: string; name: string;
    account: Json<'integration_connection.account'> | null;
    state: 'pending' | 'active' | 'needs_reauth' | 'error' | 'revoked'; reason: string | null;
    scopes: Told<'integration_connection.scopes', string[]>;
    settings: Json<'integration_connection.settings'>; token_set_id: string | null; created_by: string;
    created_at: Time; updated_at: Time;
  };
  integration_provider: {
    id: string; organization_id: string; slug: string; definition: Json<'integration_provider.definition'>;
    created_by: string; created_at: Time; updated_at: Time;
  };
  invitation: {
    id: string; organization_id: string; email: string; role: 'owner' | 'admin' | 'member' | 'guest';
    token_hash: string; status: 'pending' | 'accepted' | 'declined' | 'revoked'; invited_by: string;
    accepted_by: string | null; created_at: Time; updated_at: Time; expires_at: Time;
  };
  lease: {
    name: string; holder: string; fence: Generated<Big>;
  };
  limited_token: {
    token_set_id: string; connection_id: string; limits: string;
  };
  loop: {
    id: string; organization_id: string; workspace_id: string; chat_id: string; created_by: string;
    actor: Json<'loop.actor'>; tools_above: Json<'loop.tools_above'>; prompt: string;
    agent_name: string | null; model: string; fallback_models: Told<'loop.fallback_models', string[]>;
    on_approval: 'wait' | 'refuse' | 'fail' | null; goal: Json<'loop.goal'>; context: 'continue' | 'fresh';
    interval_seconds: number; stall_after: number; max_iterations: number; budget: Json<'loop.budget'>;
    state: 'waiting' | 'running' | 'grading' | 'done';
    outcome: 'satisfied' | 'exhausted' | 'budget' | 'stalled' | 'blocked' | 'stopped' | 'error' | null;
    reason: string | null; iteration: Generated<number>; call_id: string | null;
    blocked_reason: string | null; resumed_after: Generated<number>; resumed_with: string | null;
    spent_usd: Generated<number | null>; spent_seconds: Generated<number>;
    grading_failures: Generated<number>; holder: string | null; next_at: Time | null;
    last_event: Generated<number>; created_at: Time; finished_at: Time | null;
  };
  loop_check: {
    loop_id: string; code: Buffer;
  };
  loop_event: {
    loop_id: string; id: number; type: string; data: Json<'loop_event.data'>; created_at: Time;
  };
  loop_iteration: {
    loop_id: string; number: number; call_id: string; stop_reason: string | null;
    checks: Generated<Json<'loop_iteration.checks'>>; verdict: Json<'loop_iteration.verdict'> | null;
    unmet: Told<'loop_iteration.unmet', string[]> | null; files_digest: string | null;
    cost_usd: number | null; grading_usd: Generated<number | null>; started_at: Time; ended_at: Time | null;
    graded_at: Time | null;
  };
  mail_outbox: {
    id: string; recipient: string; subject: string; text: string | null; html: string | null;
    state: 'waiting' | 'sent' | 'failed'; attempts: number; held_until: Time | null; reason: string | null;
    created_at: Time; settled_at: Time | null; headers: Generated<Json<'mail_outbox.headers'>>;
  };
  mcp_question: {
    id: string; session_id: string; answer: Json<'mcp_question.answer'> | null; asked_at: Time;
  };
  mcp_session: {
    id: string; principal_id: string; protocol_version: string; client: Json<'mcp_session.client'>;
    subscriptions: Generated<Told<'mcp_session.subscriptions', string[]>>; stream_id: string | null;
    created_at: Time; seen_at: Time;
  };
  message: {
    id: string; chat_id: string; run_id: string; run_number: Big; number: Generated<Big>;
    role: 'user' | 'assistant'; step: number | null; content: Json<'message.content'>; created_at: Time;
    model: string | null;
  };
  model_slot: {
    id: string; number: Generated<Big>; provider: string; organization_id: string; holder: string; round: Big;
    entered: Generated<boolean>;
  };
  notification: {
    id: string; user_id: string; organization_id: string | null; workspace_id: string | null; number: Big;
    type: string; category: string; severity: 'info' | 'warning' | 'critical'; title: string; body: string;
    link: string | null; data: Json<'notification.data'>; chain: Told<'notification.chain', string[]>;
    dedupe_key: string; in_app: boolean; expires_at: Time | null; read_at: Time | null;
    archived_at: Time | null; created_at: Time; chain_depth: Generated<number>; untrusted: Generated<boolean>;
  };
  notification_delivery: {
    id: string; notification_id: string; channel: string; target: string | null;
    state: 'queued' | 'held' | 'sent' | 'failed' | 'suppressed'; reason: string | null; attempts: number;
    next_at: Time | null; digest_id: string | null; created_at: Time; settled_at: Time | null;
  };
  notification_inbox: {
    user_id: string; last_number: Big;
  };
  notification_preference: {
    user_id: string; organization_id: string | null; type_or_category: string; channel: string;
    mode: 'on' | 'off' | 'digest';
  };
  notification_schedule: {
    user_id: string; timezone: string; quiet_from: string | null; quiet_to: string | null; digest_at: string;
    days: Told<'notification_schedule.days', number[]>;
  };
  oauth_artifact: {
    model: string; id: string; grant_id: string | null; lookup: string | null; sealed: Buffer;
    consumed_at: Time | null; expires_at: Time; polled_at: Time | null; poll_seconds: number | null;
  };
  oauth_client: {
    id: string; metadata: Json<'oauth_client.metadata'>; created_at: Time; last_used_at: Time | null;
  };
  oauth_flow: {
    id: string; kind: string; subject_id: string; organization_id: string; user_id: string;
    start_hash: string; state_hash: string | null; browser: string | null; details: Buffer;
    held: Buffer | null; outcome: Json<'oauth_flow.outcome'> | null; expires_at: Time;
    consumed_at: Time | null; created_at: Time;
  };
  oauth_grant: {
    id: string; user_id: string; client_id: string; client_name: string; redirect_host: string | null;
    scopes: Told<'oauth_grant.scopes', string[]>; resources: Told<'oauth_grant.resources', string[]>;
    workspace_ids: Told<'oauth_grant.workspace_ids', string[]> | null; terms: Json<'oauth_grant.terms'>;
    created_at: Time; last_used_at: Time | null; expires_at: Time;
  };
  operation: {
    id: string; kind: string; state: 'queued' | 'running' | 'completed' | 'error' | 'cancelled';
    actor_id: string; organization_id: string; subject_id: string; error: string | null;
    cancel_requested: Generated<boolean>; version: Generated<number>; created_at: Time;
    finished_at: Time | null; input: Generated<Json<'operation.input'>>;
    progress: Generated<Json<'operation.progress'>>; result: Json<'operation.result'> | null;
    chain: Json<'operation.chain'> | null;
  };
  organization: {
    id: string; name: string; created_by: string; created_at: Time; updated_at: Time;
  };
  organization_exposure: {
    organization_id: string; max_exposure: 'org' | 'restricted' | 'link' | 'public'; updated_by: string;
    updated_at: Generated<Time>;
  };
  organization_member: {
    organization_id: string; user_id: string; role: 'owner' | 'admin' | 'member' | 'guest'; created_at: Time;
  };
  organization_models: {
    organization_id: string; enabled: Told<'organization_models.enabled', string[]>;
    disabled: Told<'organization_models.disabled', string[]>; default_model: string | null;
    new_models: 'enabled' | 'disabled'; updated_at: Time;
    fallback: Generated<Told<'organization_models.fallback', string[]>>;
  };
  plan: {
    run_id: string; chat_id: string; items: Json<'plan.items'>; updated_at: Time;
  };
  process: {
    id: string; seen_at: Time; machine: string | null; pid: number | null; started: string | null;
    listens_to: Told<'process.listens_to', string[]> | null;
  };
  push_subscription: {
    id: string; user_id: string; endpoint: string; keys: Buffer; created_at: Time;
  };
  question: {
    id: string; organization_id: string; workspace_id: string | null; chat_id: string; run_id: string;
    step: number; position: number; call_id: string; question: string; choices: Json<'question.choices'>;
    multiple: boolean; allow_text: boolean; asked_of: string;
    status: 'pending' | 'answered' | 'expired' | 'cancelled'; answer: Json<'question.answer'> | null;
    answered_by: string | null; answered_at: Time | null; expires_at: Time; created_at: Time;
    reminded_at: Time | null;
  };
  rate_count: {
    key: string; points: number; expire: Big | null;
  };
  refresh_token: {
    hash: string; session_id: string; created_at: Time; used_at: Time | null;
  };
  rpc_call: {
    id: string; holder: string; process_id: string; method: string; input: Buffer;
    state: Generated<'waiting' | 'running' | 'refused' | 'done'>; is_cancelled: Generated<boolean>;
    result: Buffer | null;
  };
  rpc_output: {
    call_id: string; number: number; text: Buffer;
  };
  run: {
    id: string; number: Generated<Big>; chat_id: string; organization_id: string; workspace_id: string | null;
    status: 'pending' | 'completed' | 'error'; state: 'queued' | 'running' | 'waiting' | 'stopping' | 'done';
    agent_name: string | null; model: string; model_used: string | null; created_by: string;
    actor: Json<'run.actor'>; attempt: number; lost: Generated<number>; step_count: number;
    last_event: number; stop_reason: string | null; error: Json<'run.error'> | null; response: string | null;
    usage: Json<'run.usage'>; cost_usd: number | null; created_at: Time; started_at: Time | null;
    finished_at: Time | null; budget: Json<'run.budget'> | null;
    delivery: Generated<'queue' | 'reject' | 'steer' | 'interrupt'>;
    on_approval: 'wait' | 'fail' | 'refuse' | null; steers_run_id: string | null; steers: Generated<number>;
    merged_into: string | null; merged_step: number | null; waiting_since: Time | null;
    waited_ms: Generated<Big>; due: Generated<boolean>; holder: string | null;
    response_schema: Json<'run.response_schema'> | null; response_json: Json<'run.response_json'> | null;
    fallback_models: Generated<Told<'run.fallback_models', string[]>>; parent_id: string | null;
    parent_step: number | null; parent_position: number | null; depth: Generated<number>;
    tools_above: Generated<Json<'run.tools_above'>>; requested_tasks: Generated<number>;
    automation_run_id: string | null; pinned: Json<'run.pinned'> | null; loop_id: string | null;
    fresh_context: Generated<boolean>; deployment_id: string | null; approval_seconds: number | null;
    context: Json<'run.context'> | null;
  };
  run_event: {
    run_id: string; id: number; created_at: Time; events: Json<'run_event.events'>;
  };
  run_step: {
    run_id: string; number: number; finish_reason: string; model_used: string | null;
    usage: Json<'run_step.usage'>; cost_usd: number | null; started_at: Time; finished_at: Time;
  };
  running_sandbox: {
    id: string; workspace_id: string; process_id: string; node: string; command: string; caller_kind: string;
    caller_id: string | null; started_at: Time; stop_requested: Generated<boolean>; kind: Generated<string>;
    memory_bytes: Big | null; cpu_ms: Big | null; processes: number | null; name: string | null;
  };
  secret: {
    id: string; place: string; organization_id: string | null; key_id: string; wrapped_key: Buffer;
    sealed: Buffer; revision: number; created_at: Time; rotated_at: Time | null;
  };
  server: {
    id: string; workspace_id: string; slug: string; name: string; command: string; folder: Generated<string>;
    env_names: Generated<Told<'server.env_names', string[]>>; env_sealed: string | null;
    restart: Generated<'always' | 'on_failure' | 'never'>; health_path: string | null;
    overlap: Generated<boolean>; sleep_after_seconds: number | null; port: number | null;
    host_header: Generated<'public' | 'local'>; memory_bytes: Big | null;
    actions: Generated<Told<'server.actions', string[]>>; actor: Json<'server.actor'> | null;
    wanted: Generated<'running' | 'stopped'>;
    state: Generated<'stopped' | 'starting' | 'running' | 'crashed' | 'failed' | 'sleeping'>;
    reason: string | null; generation: Generated<number>; restarts: Generated<number>;
    next_attempt_at: Time | null; last_exit: Json<'server.last_exit'> | null; last_request_at: Time | null;
    state_changed_at: Time; created_by: string; created_at: Time; updated_at: Time;
    log_last_id: Generated<Big>; log_bytes: Generated<Big>;
    connections: Generated<Told<'server.connections', string[]>>; install_command: string | null;
  };
  server_instance: {
    id: string; server_id: string; generation: number; state: 'starting' | 'running' | 'draining' | 'ended';
    holder: string | null; address: Json<'server_instance.address'> | null; is_successor: Generated<boolean>;
    port: number | null; memory_bytes: Big | null; cpu_ms: Big | null;
    exit: Json<'server_instance.exit'> | null; started_at: Time; ready_at: Time | null; ended_at: Time | null;
    metered_until: Time | null;
  };
  server_log: {
    server_id: string; id: Big; instance_id: string | null; stream: 'stdout' | 'stderr' | 'system';
    text: string; bytes: number; created_at: Time;
  };
  service_account: {
    id: string; organization_id: string; name: string; role: 'owner' | 'admin' | 'member' | 'guest';
    sponsor_id: string; created_by: string; created_at: Time; updated_at: Time;
  };
  session: {
    id: string; user_id: string; user_agent: string | null; address: string | null; created_at: Time;
    last_used_at: Time; expires_at: Time; revoked_at: Time | null;
  };
  share_link: {
    id: string; workspace_id: string; path: string; allow: 'view' | 'download' | 'upload'; token_hash: string;
    sealed_token: string; password_hash: string | null; expires_at: Time | null; created_by: string;
    created_at: Time; updated_at: Time; views: Generated<number>; downloads: Generated<number>;
    uploads: Generated<number>; last_opened_at: Time | null;
  };
  site: {
    id: string; workspace_id: string; slug: string; name: string; folder: string; preset: string | null;
    install_command: string | null; build_command: string | null; output_dir: string | null;
    spa: boolean | null; node_memory: number | null; actions: Generated<Told<'site.actions', string[]>>;
    actions_public: Generated<boolean>; actions_actor: Json<'site.actions_actor'> | null;
    live_version_id: string | null; last_number: Generated<number>; paused_at: Time | null;
    pause_reason: string | null; locked_at: Time | null; locked_by: string | null; lock_reason: string | null;
    created_by: string; created_at: Time; updated_at: Time; stored_bytes: Generated<Big>;
    sweep_at: Time | null;
  };
  site_version: {
    id: string; site_id: string; number: number;
    state: 'queued' | 'building' | 'built' | 'failed' | 'cancelled' | 'purged'; auto_promote: boolean;
    promotion: Generated<'none' | 'done' | 'skipped'>; promotion_reason: string | null; note: string | null;
    preset: string | null; error: string | null; findings: Generated<Json<'site_version.findings'>>;
    manifest_hash: string | null; files: Generated<number>; bytes: Generated<Big>; attempt: Generated<number>;
    holder: string | null; losses: Generated<number>; progress: Generated<Json<'site_version.progress'>>;
    pinned: Generated<boolean>; created_by: string; created_at: Time; started_at: Time | null;
    finished_at: Time | null; promoted_at: Time | null; retired_at: Time | null;
    chain: Json<'site_version.chain'> | null;
  };
  site_version_log: {
    version_id: string; id: number; stream: 'stdout' | 'stderr' | 'system'; text: string; created_at: Time;
  };
  spend: {
    scope_id: string; period: Time; spent_usd: Big;
  };
  template: {
    id: string; organization_id: string | null; workspace_id: string | null; slug: string; name: string;
    description: string; visibility: 'workspace_admins' | 'org' | 'installation'; created_by: string | null;
    created_at: Time; updated_at: Time;
  };
  template_version: {
    id: string; template_id: string; number: number; state: 'publishing' | 'published' | 'blocked';
    manifest: Generated<Json<'template_version.manifest'>>;
    findings: Generated<Json<'template_version.findings'>>;
    skipped: Generated<Json<'template_version.skipped'>>; files: Generated<number>; bytes: Generated<Big>;
    published_by: string | null; created_at: Time; chain: Json<'template_version.chain'> | null;
  };
  token_set: {
    id: string; kind: string; organization_id: string; secret_id: string;
    state: 'active' | 'needs_reauth' | 'error'; reason: string | null;
    scopes: Told<'token_set.scopes', string[]>; is_renewable: boolean; fresh_until: Time | null;
    access_expires_at: Time | null; refresh_expires_at: Time | null; refresh_at: Time | null;
    warn_at: Time | null; revision: number; holder: string | null; failures: number; retry_at: Time | null;
    last_used_at: Time | null; created_at: Time; updated_at: Time;
  };
  tool_call: {
    run_id: string; step: number; position: number; call_id: string; tool: string;
    input: Json<'tool_call.input'> | null; output: string | null; is_error: boolean;
    state: 'planned' | 'started' | 'finished'; started_at: Time | null; finished_at: Time | null;
    files: Json<'tool_call.files'> | null; images: Json<'tool_call.images'> | null;
  };
  usage_day: {
    organization_id: string; day: Time; workspace_id: string | null; actor_id: string | null;
    deployment_id: string | null; model: string | null; model_calls: Big; unpriced_calls: Big;
    input_tokens: Big; output_tokens: Big; cache_read_tokens: Big; cache_write_tokens: Big;
    tool_seconds: number; build_seconds: number; server_seconds: number; storage_byte_hours: number;
    spend_usd: Big;
  };
  usage_entry: {
    id: Generated<string>; time: Time; organization_id: string; workspace_id: string | null;
    chat_id: string | null; run_id: string | null; step: number | null; position: number | null;
    actor_id: string | null;
    kind: 'model_call' | 'tool_seconds' | 'storage_byte_hours' | 'build_seconds' | 'server_seconds';
    model: string | null; input_tokens: Big | null; output_tokens: Big | null; cache_read_tokens: Big | null;
    cache_write_tokens: Big | null; reasoning_tokens: Big | null; seconds: number | null;
    byte_hours: number | null; cost_usd: Big | null; deployment_id: string | null;
  };
  usage_summed: {
    is_one: Generated<boolean>; until: Time;
  };
  user: {
    id: string; email: string; name: string; password_hash: string; installation_owner: boolean;
    created_at: Time; updated_at: Time; email_verified_at: Time | null;
  };
  visit_ticket: {
    hash: string; target_kind: string; target_id: string; workspace_id: string; host: string; user_id: string;
    session_id: string; state: string; path: string; expires_at: Time; used_at: Time | null;
  };
  webhook_attempt: {
    id: string; endpoint_id: string; message_id: string; status: number | null; reason: string | null;
    duration_ms: number; created_at: Time;
  };
  webhook_endpoint: {
    id: string; user_id: string | null; organization_id: string | null; created_by: string; url: string;
    description: string; types: Told<'webhook_endpoint.types', string[]>; state: 'enabled' | 'disabled';
    disabled_reason: 'gone' | 'failing' | null; failing_since: Time | null; secret: Buffer;
    previous_secret: Buffer | null; previous_until: Time | null; created_at: Time; updated_at: Time;
  };
  webhook_message: {
    id: string; endpoint_id: string; event_key: string; type: string; workspace_id: string | null;
    body: string; state: 'pending' | 'sent' | 'failed'; attempts: number; next_at: Time | null;
    holder: string | null; created_at: Time; settled_at: Time | null;
  };
  workspace: {
    id: string; organization_id: string; name: string; visibility: 'org' | 'restricted' | 'private';
    number: Generated<number>; created_by: string; created_at: Time; updated_at: Time;
    features_off: Generated<Told<'workspace.features_off', string[]>>;
  };
  workspace_change: {
    seq: Generated<Big>; workspace_id: string; id: Big | null; path: string;
    kind: 'created' | 'modified' | 'deleted' | 'moved'; from_path: string | null; size: Big | null;
    etag: string | null; writer_type: string; writer_id: string; run_id: string | null; created_at: Time;
    changed_at: Time; captured: Generated<boolean>; revision: string | null;
  };
  workspace_egress: {
    workspace_id: string; mode: string; hosts: Told<'workspace_egress.hosts', string[]>;
    presets: Told<'workspace_egress.presets', string[]>; updated_by: string; updated_at: Time;
  };
  workspace_history: {
    workspace_id: string; complete: Generated<boolean>; found_through: string | null; bytes: Generated<Big>;
    tended_at: Time; kept_since: Time | null;
  };
  workspace_log: {
    workspace_id: string; last_change: Generated<Big>; pruned_through: Generated<Big>;
  };
  workspace_member: {
    workspace_id: string; principal_id: string; role: 'admin' | 'editor' | 'viewer'; created_at: Time;
  };
  workspace_origin: {
    workspace_id: string; template_id: string; version: number;
  };
  workspace_scan: {
    id: string; workspace_id: string; writer_type: string; writer_id: string; run_id: string | null;
    from_seq: Big; started_at: Time; deadline: Time; background: Generated<boolean>; holder: string;
  };
  workspace_secret: {
    workspace_id: string; name: string; sealed: Buffer; created_at: Time; updated_at: Time;
  };
  workspace_write: {
    id: string; workspace_id: string; holder: string; writer_type: string; writer_id: string;
    targets: Json<'workspace_write.targets'>; from_seq: Big; recorded: Generated<number>; began_at: Time;
  };
}
