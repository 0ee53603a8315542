import type { SandboxRequest, SandboxResult } from './sandbox.js';
import type { SandboxSession, SessionRequest } from './session.js';

/** `reason` is one sentence that says what is missing and what to do about it. */
export type SandboxCheck = { ok: true } | { ok: false; reason: string };

export interface SandboxDriver {
  readonly name: string;
  /** False if commands run with the service's own view of the host. */
  readonly isolated: boolean;
  /** Runs a real command once and remembers that it worked; a failure is looked at again by the next call. */
  check(): Promise<SandboxCheck>;
  /** @throws SandboxRefusal if the request is unfit, SandboxFailure if no sandbox could be made. */
  run(request: SandboxRequest): Promise<SandboxResult>;
  /** Opens a sandbox that lasts. @throws as `run` does */
  openSession(request: SessionRequest): Promise<SandboxSession>;
}
