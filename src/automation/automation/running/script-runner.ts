import { Injectable } from '@nestjs/common';
import { ActionAllowlist, ActionCaller } from '../../../platform/actions/index.js';
import { StandingAuthority } from '../../../workspaces/core/index.js';
import {
  RecordedScripts,
  runPinned,
  SandboxesService,
  type ScriptResult,
} from '../../../workspaces/sandboxes/index.js';
import { SecretMask } from '../../secrets/index.js';
import type { AutomationRunRow } from '../records/automation-runs.store.js';
import type { RunContext } from './run-context.js';
import { RunContextReader } from './run-context-reader.js';
import type { ScriptOutput } from './script-output.js';

const MAX_OUTPUT_BYTES = 100 * 1024 * 1024;

/** What one script of a run gets, and where it prints. */
export interface ScriptOptions {
  /** Values by name. */
  readonly secrets: ReadonlyMap<string, string>;
  readonly output: ScriptOutput;
  readonly signal: AbortSignal;
  /** Called before the first instruction of the program, which does not begin where it rejects. */
  readonly onReady: () => Promise<void>;
}

export interface ScriptEnd {
  readonly result: ScriptResult;
  readonly refusal: string | undefined;
  /** Files that it wrote; null: not known. */
  readonly paths: string[] | null;
}

/** Runs the script of an automation as one command in the sandbox of its workspace, on the authority of the run. */
@Injectable()
export class ScriptRunner {
  constructor(
    private readonly authority: StandingAuthority,
    private readonly sandboxes: SandboxesService,
    private readonly scripts: RecordedScripts,
    private readonly contexts: RunContextReader,
  ) {}

  async run(
    run: AutomationRunRow,
    context: RunContext,
    { secrets, output, signal, onReady }: ScriptOptions,
  ): Promise<ScriptEnd> {
    const { pinned } = context;
    const { work, actions, limits } = pinned.definition;
    const language = work.kind === 'script' ? work.language : 'bash';
    const workspace = await this.authority.require(run.actor, run.workspace_id, 'code.run');
    const caller = { kind: 'automation', id: run.id } as const;
    const acting = ActionCaller.program(caller, 'sandbox', {
      actor: run.actor,
      workspaceId: workspace.id,
      allowlist: new ActionAllowlist(actions),
    });
    const code = Buffer.from(pinned.code ?? '');
    const payload = await this.contexts.readPayload(context);
    const mask = new SecretMask(secrets.values());
    const { script, stdin } = runPinned({ language, code, input: payload, marker: output.marker });
    const { result, changes, refusal } = await this.scripts.run(
      workspace,
      { writer: { type: 'automation', id: run.id }, seconds: limits.maxSeconds, signal },
      until =>
        this.sandboxes.runScript(workspace, {
          script,
          stdin,
          caller,
          actor: acting.actor,
          signal: until,
          actions: actions.length === 0 ? undefined : acting,
          seconds: limits.maxSeconds,
          outputBytes: MAX_OUTPUT_BYTES,
          env: Object.fromEntries(secrets),
          onReady,
          onOutput: ({ text }) => output.add(mask.add(text)),
        }),
    );
    output.add(mask.end());
    output.end();
    return {
      result,
      refusal,
      paths: changes?.filter(({ kind }) => kind !== 'deleted').map(({ path }) => path) ?? null,
    };
  }
}
