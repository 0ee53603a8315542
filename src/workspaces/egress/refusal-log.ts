import type { EgressRefusal } from '#libs/egress-proxy/index.js';
import type { Log } from '../../platform/log/index.js';
import type { SandboxUser } from './credential-rules.js';

/** Different refusals of one sandbox that are logged. */
const MAX_KINDS = 100;

/** Refused connections of one sandbox in the service's log: a line for each host and reason, and how often each was repeated. */
export class RefusalLog {
  private readonly counts = new Map<string, { readonly egress: object; count: number }>();
  private others = 0;

  constructor(
    private readonly log: Log,
    private readonly use: Pick<SandboxUser, 'workspaceId' | 'caller'>,
  ) {}

  /** `target`: a host and port, or a URL, of which only the authority counts. */
  add({ reason }: EgressRefusal, target: string): void {
    const shown = target.replace(/^(https?:\/\/[^/?#]*).*$/is, '$1').slice(0, 200);
    const key = `${reason} ${shown}`;
    const known = this.counts.get(key);
    if (known) known.count++;
    else if (this.counts.size >= MAX_KINDS) this.others++;
    else {
      const egress = { reason, target: shown };
      this.counts.set(key, { egress, count: 1 });
      this.log.warn({ ...this.fields, egress }, 'a sandbox was refused a connection');
    }
  }

  /** The sandbox has ended. */
  close(): void {
    for (const { egress, count } of this.counts.values())
      if (count > 1) this.log.info({ ...this.fields, egress, count }, 'refused connections were repeated');
    if (this.others > 0)
      this.log.warn({ ...this.fields, count: this.others }, 'more refused connections were not logged');
    this.counts.clear();
    this.others = 0;
  }

  private get fields(): object {
    return { workspace_id: this.use.workspaceId, caller: this.use.caller };
  }
}
