export {
  Action,
  type ActionDeclaration,
  actionOf,
  consequenceOf,
  declarationOf,
  isGrave,
  permissionToRun,
  subjectsOf,
  type ToolDeclaration,
  VERDICTS,
  type Verdict,
} from './action.js';
export {
  ActionCaller,
  ASK_A_PERSON,
  forApplications,
  type Limit,
  PROGRAMS,
  SURFACES,
} from './action-caller.js';
export { ActionCatalog } from './action-catalog.js';
export { ACTION_RUN_STATUSES, ActionLedger } from './action-ledger.js';
export { ActionListing } from './action-listing.js';
export { type ActionCall, ActionRunner, type CheckedCall } from './action-runner.js';
export { ActionsModule } from './actions.module.js';
export { ActionAllowlist, allows } from './allowlist.js';
export { CallerRoles, type Roles } from './caller-roles.js';
export { CatalogAction } from './catalog-action.js';
export { ExecCaller, ExecTokenGuard, execCallerOf } from './exec-token.guard.js';
export { EXEC_TOKEN_PREFIX, ExecTokens, revokeTokensOf } from './exec-tokens.js';
export { inputSchemaOf, outputSchemaOf } from './json-schema.js';
export { withoutSecrets } from './redaction.js';
export { type Place, Subject } from './subject.js';
