import { Injectable } from '@nestjs/common';
import type { VisibleWorkspace } from '../../../workspaces/core/index.js';
import { runPinned, SandboxesService, type ScriptResult } from '../../../workspaces/sandboxes/index.js';
import type { CheckResult, Goal, LoopRow } from '../records/index.js';

const MAX_SECONDS = 120;
/** Beyond this it has flooded its output and is ended. */
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
/** Of what it prints, the end is kept; in characters. */
const MAX_DETAIL = 4_000;
/** Of the agent's last message, what the check gets. */
const MAX_RESPONSE = 128 * 1024;

/** Runs the check of a loop: the pinned bytes, in a sandbox of their own that reads the files and reaches nothing. */
@Injectable()
export class CheckScript {
  constructor(private readonly sandboxes: SandboxesService) {}

  async run(
    loop: LoopRow,
    { check, code }: { check: NonNullable<Goal['check']>; code: Buffer },
    { workspace, response, signal }: { workspace: VisibleWorkspace; response: string; signal: AbortSignal },
  ): Promise<CheckResult> {
    let printed = '';
    const input = { iteration: loop.iteration, response: response.slice(0, MAX_RESPONSE).toWellFormed() };
    const result = await this.sandboxes.runScript(workspace, {
      ...runPinned({ language: check.run, code, input: JSON.stringify(input) }),
      caller: { kind: 'loop', id: loop.id },
      onlyReads: true,
      signal,
      seconds: MAX_SECONDS,
      outputBytes: MAX_OUTPUT_BYTES,
      onOutput: ({ text }) => {
        printed = (printed + text).slice(-2 * MAX_DETAIL);
      },
    });
    signal.throwIfAborted();
    const said = printed.slice(-MAX_DETAIL).toWellFormed().replaceAll('\0', '').trim();
    const met = result.ended_by === 'exit' && result.exit_code === 0;
    return { kind: 'check', met, detail: met ? said : `${endOf(result)}${said === '' ? '' : `\n${said}`}` };
  }
}

function endOf({ ended_by, exit_code }: ScriptResult): string {
  if (ended_by === 'timeout') return `It took longer than ${MAX_SECONDS} seconds`;
  if (ended_by === 'memory') return 'It needed more memory than a sandbox has';
  if (ended_by === 'output') return 'It printed more than may be printed';
  if (ended_by === 'stopped' || exit_code === null) return 'It was ended from outside';
  return `It ended with exit code ${exit_code}`;
}
