import { Injectable } from '@nestjs/common';
import type { CredentialUse } from '#libs/egress-proxy/index.js';
import { ActionAllowlist, ActionCaller, ActionLedger, PROGRAMS } from '../../platform/actions/index.js';
import { Field } from '../../platform/dto/index.js';
import { Log } from '../../platform/log/index.js';
import type { SandboxUser } from '../../workspaces/egress/index.js';
import type { Delivered } from './delivered.js';

/** Ledger input: requests of one run under one rule. */
class ConnectionUse {
  @Field.id('The connection') connection_id: string;
  @Field.text('The provider') provider: string;
  @Field.text('The host') host: string;
}

class ConnectionUsed {
  @Field.integer('Requests') requests: number;
  @Field.integer('Bytes that were sent') bytes_out: number;
  @Field.integer('Bytes that came back') bytes_in: number;

  @Field.record('How many requests there were, by method, prefix of the path, and status')
  by: Record<string, number>;
}

const USE = {
  name: 'connection_use',
  declaration: { effect: 'write', input: ConnectionUse, output: ConnectionUsed },
} as const;
const MAX_KINDS = 50;
const OTHERS = 'others';
/** A sandbox that goes on for days has a row for each: what a row counts is written when it ends. */
const ROW_MS = 3_600_000;

interface OpenUse {
  readonly row: Promise<string | undefined>;
  readonly users: Set<SandboxUser>;
  readonly used: ConnectionUsed;
  readonly begunAt: number;
}

/** Enters the uses of credentials in the ledger: a row for a run and a host, however many requests there are. */
@Injectable()
export class ConnectionUses {
  private readonly open = new Map<string, OpenUse>();

  constructor(
    private readonly ledger: ActionLedger,
    private readonly log: Log,
  ) {}

  note(user: SandboxUser, rule: Delivered, use: CredentialUse): void {
    const { workspaceId, caller } = user;
    const key = JSON.stringify([
      workspaceId,
      caller,
      user.actor?.id,
      rule.connection.id,
      rule.host,
      rule.header,
    ]);
    let open = this.open.get(key);
    if (open && performance.now() - open.begunAt > ROW_MS) {
      this.open.delete(key);
      void this.close(open).catch((error: unknown) =>
        this.log.error(
          { err: error, workspace_id: workspaceId },
          'the uses of a connection were not counted',
        ),
      );
      open = undefined;
    }
    if (!open) {
      const row = this.begin(user, rule);
      open = { row, users: new Set(), used: nothing(), begunAt: performance.now() };
      this.open.set(key, open);
    }
    const { users, used } = open;
    users.add(user);
    used.requests++;
    used.bytes_out += use.bytes_out;
    used.bytes_in += use.bytes_in;
    const kind = `${use.method} ${use.path} ${use.status ?? 'no answer'}`;
    const isKnown = Object.hasOwn(used.by, kind) || Object.keys(used.by).length < MAX_KINDS;
    const name = isKnown ? kind : OTHERS;
    used.by[name] = (used.by[name] ?? 0) + 1;
  }

  /** Closes the rows that no other sandbox of the same caller adds to. */
  async ended(user: SandboxUser): Promise<void> {
    const over: OpenUse[] = [];
    for (const [key, open] of this.open) {
      if (!open.users.delete(user) || open.users.size > 0) continue;
      this.open.delete(key);
      over.push(open);
    }
    for (const open of over) await this.close(open);
  }

  private async close({ row, used }: OpenUse): Promise<void> {
    const id = await row;
    if (id !== undefined) await this.ledger.end(id, USE, { status: 'completed', output: used });
  }

  private async begin(
    { workspaceId, caller: { kind, id }, actor }: SandboxUser,
    { connection, host }: Delivered,
  ): Promise<string | undefined> {
    if (!actor) return undefined;
    const { id: connection_id, organization_id, provider } = connection;
    try {
      const program = PROGRAMS.find(each => each === kind);
      const caller =
        program && id !== null
          ? ActionCaller.program({ kind: program, id }, 'sandbox', {
              actor,
              workspaceId,
              allowlist: new ActionAllowlist([]),
            })
          : ActionCaller.direct(actor, 'sandbox');
      return await this.ledger.begin({
        action: USE,
        caller,
        dryRun: false,
        input: { connection_id, provider, host },
        tenant: { organization_id, workspace_id: workspaceId },
      });
    } catch (error) {
      this.log.error(
        { err: error, connection_id, workspace_id: workspaceId },
        'the use of a connection could not be recorded',
      );
      return undefined;
    }
  }
}

const nothing = (): ConnectionUsed => ({ requests: 0, bytes_out: 0, bytes_in: 0, by: {} });
