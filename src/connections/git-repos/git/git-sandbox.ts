import { Injectable } from '@nestjs/common';
import { AllowList } from '#libs/egress-proxy/index.js';
import { isPublicAddress } from '#libs/guarded-fetch/index.js';
import { type OutputChunk, quoteWords } from '#libs/sandbox/index.js';
import type { Actor } from '../../../platform/access/index.js';
import { Config } from '../../../platform/config/index.js';
import { Conflict } from '../../../platform/errors/index.js';
import type { VisibleWorkspace } from '../../../workspaces/core/index.js';
import { type EgressList, EgressSockets } from '../../../workspaces/egress/index.js';
import {
  ProgramSandboxes,
  RecordedScripts,
  SandboxesService,
  type ScriptResult,
} from '../../../workspaces/sandboxes/index.js';
import { type CredentialUser, DeliveredRules } from '../../delivery/index.js';
import { GIT_ENVIRONMENT } from './git-environment.js';
import { type GitEnd, hasNoRepository, toProblem } from './git-fault.js';
import type { RemoteUrl } from './remote-url.js';

const READ_SECONDS = 60;
const WRITE_SECONDS = 300;
const NET_SECONDS = 1800;
const MAX_OUTPUT = 8 * 1024 * 1024;

type Workspace = Pick<VisibleWorkspace, 'id' | 'number' | 'organization_id'>;

interface Step {
  readonly args: readonly string[];
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly onOutput?: (chunk: OutputChunk) => void;
  /** The caller checks the exit code. */
  readonly mayFail?: boolean;
  readonly outputBytes?: number;
}

/** A remote, and whose credential it gets; null: none. */
export interface Remote {
  readonly url: RemoteUrl;
  readonly connectionId: string | null;
  readonly level: 'read' | 'write';
}

/**
 * Runs git: always in a sandbox, with nothing of the repository's configuration that runs a program. What reads has no network and
 * cannot write; what writes has no network; what goes over the network has the credential for one repository, and reads no
 * configuration that others could have written.
 */
@Injectable()
export class GitSandbox {
  constructor(
    private readonly config: Config,
    private readonly sandboxes: SandboxesService,
    private readonly programs: ProgramSandboxes,
    private readonly scripts: RecordedScripts,
    private readonly egress: EgressSockets,
    private readonly rules: DeliveredRules,
  ) {}

  read(workspace: Workspace, actor: Actor, script: string, step: Step): Promise<GitEnd> {
    return this.run(workspace, actor, script, step, { onlyReads: true, seconds: READ_SECONDS });
  }

  /** Within {@link recorded}. */
  write(workspace: Workspace, actor: Actor, script: string, step: Step): Promise<GitEnd> {
    const reach = { hosts: [], advice: '', withWorkspace: false, credentials: [] };
    return this.run(workspace, actor, script, step, { reach, seconds: WRITE_SECONDS });
  }

  /** Within {@link recorded}. 403 and 409 where the remote cannot be reached from this workspace. */
  async net(workspace: Workspace, actor: Actor, remote: Remote, script: string, step: Step): Promise<GitEnd> {
    const user: CredentialUser = { workspaceId: workspace.id, caller: toCaller(actor), actor };
    const reach = await this.reach(user, remote);
    try {
      return await this.run(workspace, actor, script, step, { reach, seconds: NET_SECONDS });
    } finally {
      await this.rules.ended(user);
    }
  }

  /** The connection that a new repository gets: the one that is granted for its host; null where the caller has none. */
  connectionFor({ id }: Workspace, actor: Actor, url: RemoteUrl): Promise<string | null> {
    return this.rules.connectionFor(actor, id, url);
  }

  /** Whether the remote can be reached, before anything is done. */
  async requireReachable(workspace: Workspace, actor: Actor, remote: Remote): Promise<void> {
    await this.reach({ workspaceId: workspace.id, caller: toCaller(actor), actor }, remote);
  }

  /** What steps change is in the log, as of git; they end where the workspace is full. */
  async recorded<T>(
    workspace: Workspace,
    repoId: string,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const recording = { writer: { type: 'git', id: repoId }, seconds: NET_SECONDS, signal } as const;
    const { result, refusal } = await this.scripts.run(workspace, recording, work);
    if (refusal) throw new Conflict(refusal);
    return result;
  }

  private async reach(user: CredentialUser, { url, connectionId, level }: Remote): Promise<EgressList> {
    const { host, port } = url;
    const ports = [443, port];
    const allows = (address: string, name: string) =>
      isPublicAddress(address) ||
      (this.config.outgoingPrivateHosts?.allows(address, name, String(port)) ?? false);
    if (connectionId !== null) {
      if (this.programs.sharesNetwork)
        throw new Conflict('Credentials need isolated sandboxes, which this installation has not');
      // It is refused here, and where it is revoked while git runs, what is open ends.
      const rule = () => this.rules.forRepository(user, connectionId, url, level);
      await rule();
      const credentials = async () => [await rule()];
      return { hosts: [], ports, allows, advice: '', withWorkspace: false, credentials };
    }
    const list = { hosts: [], ports, allows, advice: '', withWorkspace: true, credentials: [] };
    const reachable = await this.egress.reachable(user.workspaceId, list);
    if (this.config.sandboxEgress === 'none' || !new AllowList(reachable).allows(host))
      throw new Conflict(
        `${host} cannot be reached from this workspace: grant a connection for it, or have an admin add it to hosts, with mode allow, by PATCH /api/workspaces/{id}/egress`,
      );
    return list;
  }

  private async run(
    workspace: Workspace,
    actor: Actor,
    script: string,
    { args, env, mayFail, outputBytes = MAX_OUTPUT, ...step }: Step,
    place: { reach?: EgressList; onlyReads?: boolean; seconds: number },
  ): Promise<GitEnd> {
    const end = toEnd(
      await this.sandboxes.runScript(workspace, {
        ...step,
        ...place,
        script: args.length > 0 ? `set -- ${quoteWords([...args])}\n${script}` : script,
        caller: toCaller(actor),
        env: { ...GIT_ENVIRONMENT, ...env },
        outputBytes,
      }),
    );
    const fault = end.ended === null && mayFail && !hasNoRepository(end) ? undefined : toProblem(end);
    if (fault) throw fault;
    return end;
  }
}

function toEnd({ exit_code, ended_by, limit, stdout, stderr, truncated }: ScriptResult): GitEnd {
  const isCut = limit === 'outputBytes' || (ended_by === 'exit' && truncated);
  const ended =
    ended_by === 'exit' || isCut
      ? null
      : ended_by === 'timeout'
        ? 'git took too long and was ended'
        : 'git was ended before it was done';
  return { code: isCut && exit_code === null ? 0 : exit_code, ended, stdout, stderr, truncated };
}

function toCaller({
  id,
  credential,
}: Actor): CredentialUser['caller'] & { kind: 'run' | 'automation' | 'tool' } {
  if (credential.run) return { kind: 'run', id: credential.run.id };
  if (credential.automation_run_id) return { kind: 'automation', id: credential.automation_run_id };
  return { kind: 'tool', id };
}
