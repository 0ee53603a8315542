export { closedFolder, openingOf } from './closed-folder.js';
export { createSandbox } from './create-sandbox.js';
export { EngineApi } from './docker/engine-api.js';
export type { DockerOptions } from './docker/options.js';
export type { SandboxCheck, SandboxDriver } from './driver.js';
export { SandboxFailure, SandboxRefusal, SessionOver } from './errors.js';
export { type LastingResult, LastingShell, type OpenedSession, type SessionLoss } from './lasting-shell.js';
export { defaultLimits, type SandboxLimits } from './limits.js';
export type {
  EndedBy,
  OutputChunk,
  Owner,
  ReadOnlyBind,
  SandboxOptions,
  SandboxRequest,
  SandboxResult,
  SandboxUsage,
} from './sandbox.js';
export { scratchFolder } from './scratch-folder.js';
export type { SandboxSession, SessionCommand, SessionEnd, SessionRequest, SessionResult } from './session.js';
export { quoteWords } from './shell.js';
export { chooseBase, lastMappedUid } from './user-ids.js';
