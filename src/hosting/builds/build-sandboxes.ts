import { Injectable } from '@nestjs/common';
import type { EgressRefusal } from '#libs/egress-proxy/index.js';
import { SandboxFailure } from '#libs/sandbox/index.js';
import { Config } from '../../platform/config/index.js';
import { Unavailable } from '../../platform/errors/index.js';
import type { EgressList } from '../../workspaces/egress/index.js';
import { type FolderResult, FolderSandboxes } from '../../workspaces/sandboxes/index.js';
import { BuildEgress } from './build-egress.js';
import type { SandboxJob } from './build-job.js';
import type { BuildLog } from './build-log.js';
import { watchDisk } from './disk-watch.js';
import { explainFailure } from './explain-failure.js';
import { BuildFailure } from './project/build-failure.js';

const MAX_PROCESSES = 512;
/** Maximum number of distinct refusals that are logged per step. */
const MAX_SAID = 20;
/** Unresolved lookups of a registry after which the step ends. */
const MAX_UNRESOLVED = 10;
const TMP_BYTES = 512 * 1024 * 1024;

const ENVIRONMENT = {
  CI: 'true',
  NO_COLOR: '1',
  DO_NOT_TRACK: '1',
  ASTRO_TELEMETRY_DISABLED: '1',
  GATSBY_TELEMETRY_DISABLED: '1',
  NEXT_TELEMETRY_DISABLED: '1',
  NUXT_TELEMETRY_DISABLED: '1',
  npm_config_update_notifier: 'false',
  npm_config_fund: 'false',
  npm_config_audit: 'false',
  npm_config_progress: 'false',
  npm_config_color: 'false',
};

export interface Step {
  readonly what: 'install' | 'build';
  readonly folder: string;
  readonly script: string;
  readonly args: readonly string[];
  /** The command as shown to people. */
  readonly command: string;
  readonly env: Record<string, string>;
  readonly egress: EgressList | undefined;
  readonly seconds: number;
  /** A refusal of one of these hosts ends the step. */
  readonly requires?: ReadonlySet<string>;
}

/** Runs each build step in a sandbox of its own, and explains failures. */
@Injectable()
export class BuildSandboxes {
  constructor(
    private readonly config: Config,
    private readonly sandboxes: FolderSandboxes,
    private readonly egress: BuildEgress,
  ) {}

  /** Throws BuildFailure, or the abort reason of the job. */
  async run(job: SandboxJob, step: Step, log: BuildLog): Promise<void> {
    const over = new AbortController();
    const full = watchDisk(
      {
        folder: step.folder,
        maxBytes: this.config.siteBuildLimits.disk,
        measure: signal => this.measure(job, step.folder, signal),
      },
      over.signal,
    );
    let fault: string | undefined;
    const stop = new AbortController();
    const watching = full.then(reason => {
      fault = reason;
      if (reason) stop.abort();
    });
    log.onFlood = () => {
      fault = 'It printed more than 256 MiB.';
      stop.abort();
    };
    const isFatal = fatalRefusals(step.requires);
    const said = new Set<string>();
    const onRefusal = (refusal: EgressRefusal, host: string | undefined): void => {
      const { message } = refusal;
      if (said.size < MAX_SAID && !said.has(message)) log.say(message);
      said.add(message);
      if (!isFatal(refusal, host)) return;
      fault ??= message;
      stop.abort();
    };
    const egress = step.egress && { ...step.egress, onRefusal };
    try {
      const signal = AbortSignal.any([job.signal, stop.signal]);
      const result = await this.runIn(job, { ...step, egress }, log, signal);
      job.signal.throwIfAborted();
      if (fault) throw new BuildFailure(`${NAMES[step.what]} was ended. ${fault}`);
      if (result.exit_code !== 0) throw new BuildFailure(this.explain(step, result, log.tail()));
    } finally {
      over.abort();
      await watching;
    }
  }

  /** Null if the size cannot be measured. */
  async measure({ workspace }: SandboxJob, folder: string, signal: AbortSignal): Promise<number | null> {
    try {
      return await this.sandboxes.bytesOf(workspace, folder, signal);
    } catch (error) {
      if (!(error instanceof SandboxFailure)) throw error;
      return null;
    }
  }

  private async runIn(
    job: SandboxJob,
    step: Step,
    log: BuildLog,
    signal: AbortSignal,
  ): Promise<FolderResult> {
    const { folder, script, args, command, egress, seconds } = step;
    const { memory: memoryBytes } = this.config.siteBuildLimits;
    const heap = job.settings.node_memory ?? Math.floor((memoryBytes * 0.75) / 2 ** 20);
    try {
      return await this.sandboxes.run(job.workspace, {
        folder,
        script,
        args,
        command,
        egress,
        signal,
        caller: { kind: 'build', id: job.callerId },
        env: { ...ENVIRONMENT, NODE_OPTIONS: `--max-old-space-size=${heap}`, ...step.env },
        limits: {
          memoryBytes,
          processes: MAX_PROCESSES,
          tmpBytes: TMP_BYTES,
          wallMs: seconds * 1000,
          cpuSeconds: Number.POSITIVE_INFINITY,
          outputBytes: Number.POSITIVE_INFINITY,
        },
        onOutput: ({ stream, text }) => log.add(stream, text),
      });
    } catch (error) {
      if (error instanceof Unavailable) throw new BuildFailure(error.message, { cause: error });
      throw error;
    }
  }

  private explain({ what, command, seconds }: Step, result: FolderResult, tail: string): string {
    return explainFailure({
      what,
      command,
      result,
      tail,
      refused: result.egress_refused,
      advice: this.egress.advice(what),
      limits: { seconds, memoryBytes: this.config.siteBuildLimits.memory, processes: MAX_PROCESSES },
    });
  }
}

/** Whether a refusal is final. Unresolved names may resolve on a later attempt. */
function fatalRefusals(hosts: ReadonlySet<string> = new Set()) {
  let unresolved = 0;
  return ({ reason }: EgressRefusal, host = ''): boolean => {
    if (!hosts.has(host) || reason === 'too_much') return false;
    return reason !== 'unresolved' || ++unresolved >= MAX_UNRESOLVED;
  };
}

const NAMES = { install: 'The installation of the dependencies', build: 'The build' };
