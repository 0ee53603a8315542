export {
  Action,
  type ActionDeclaration,
  actionOf,
  consequenceOf,
  declarationFor,
  declarationOf,
  isGrave,
  permissionToRun,
  subjectsOf,
  type ToolDeclaration,
  type ToolImage,
  VERDICTS,
  type Verdict,
} from './action.js';
export {
  ActionAllowlist,
  ActionCaller,
  ASK_A_PERSON,
  allows,
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
export { CallerRoles, type Roles } from './caller-roles.js';
export { CatalogAction } from './catalog-action.js';
export {
  EXEC_TOKEN_PREFIX,
  ExecCaller,
  ExecTokenGuard,
  ExecTokens,
  execCallerOf,
} from './exec-tokens.js';
export { Subject, type Tenant } from './subject.js';
