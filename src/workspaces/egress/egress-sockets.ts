import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Injectable } from '@nestjs/common';
import {
  type EgressConnection,
  EgressProxy,
  type EgressRefusal,
  relaySource,
} from '#libs/egress-proxy/index.js';
import { isPublicAddress } from '#libs/guarded-fetch/index.js';
import { Config } from '../../platform/config/index.js';
import { Log } from '../../platform/log/index.js';
import { Topics } from '../../platform/topics/index.js';
import { EgressStore, egressTopic } from './egress.store.js';

const SHOWN = 20;
const ADVICE =
  'To let it through, an admin of the workspace adds it with PATCH /api/workspaces/{id}/egress; without that, do without it.';

const PORTS = [443, 80];

interface EgressUse {
  readonly workspaceId: string;
  readonly owner: { readonly uid: number; readonly gid: number } | undefined;
  readonly caller: { readonly kind: string; readonly id: string | null };
}

/** Hosts that a sandbox reaches besides, or instead of, those of its workspace. */
export interface EgressList {
  readonly hosts: readonly string[];
  /** 443 and 80 by default. */
  readonly ports?: readonly number[];
  /** Which addresses of a host may be connected to; public ones by default. */
  readonly allows?: (address: string, host: string) => boolean;
  /** How a host gets onto the list. */
  readonly advice: string;
  /** Whether the hosts of the workspace can be reached, too. */
  readonly withWorkspace: boolean;
}

const NO_MORE: EgressList = { hosts: [], advice: ADVICE, withWorkspace: true };

/** A proxy for one sandbox, in a host folder to be mounted there: the socket and the relay. */
export interface OpenEgress {
  readonly folder: string;
  /** What was refused since the last call, in sentences. */
  takeRefused(): string[];
  close(): Promise<void>;
}

/** Proxies of sandboxes, each to the hosts that its workspace may reach. */
@Injectable()
export class EgressSockets {
  constructor(
    private readonly config: Config,
    private readonly egress: EgressStore,
    private readonly topics: Topics,
    private readonly log: Log,
  ) {}

  /** `hosts`: those that were reachable a moment ago. Later changes of the rule apply at once. */
  async open(use: EgressUse, hosts: string[], list: EgressList = NO_MORE): Promise<OpenEgress> {
    const folder = await mkdtemp(path.join(this.config.scratchDir ?? tmpdir(), 'atelier-egress-'));
    const refused = new Set<string>();
    const proxy = new EgressProxy({
      ...{ hosts, ports: list.ports ?? PORTS, allows: list.allows ?? isPublicAddress, advice: list.advice },
      onConnection: connection => this.tell(use, connection),
      onRefusal: (refusal, target) => {
        if (refused.size < SHOWN) refused.add(refusal.message);
        this.tellRefusal(use, refusal, target);
      },
    });
    const reachable = () => this.reachable(use.workspaceId, list);
    const unfollow = this.follow(use, proxy, reachable);
    const close = async (): Promise<void> => {
      unfollow();
      await proxy.close();
      await rm(folder, { recursive: true, force: true });
    };
    try {
      await fill(folder, proxy, use.owner);
      // The rule may have changed before the subscription.
      proxy.setHosts(await reachable());
    } catch (error) {
      await close();
      throw error;
    }
    const takeRefused = (): string[] => {
      const taken = [...refused];
      refused.clear();
      return taken;
    };
    return { folder, takeRefused, close };
  }

  /** The hosts of a list, and of the workspace where it says so. */
  async reachable(workspaceId: string, { hosts, withWorkspace }: EgressList): Promise<string[]> {
    return [...hosts, ...(withWorkspace ? await this.egress.reachableFrom(workspaceId) : [])];
  }

  /** Applies changes of the rule to a proxy; returns what unsubscribes. */
  private follow(use: EgressUse, proxy: EgressProxy, reachable: () => Promise<string[]>): () => void {
    let turn = Promise.resolve();
    const look = async (): Promise<void> => {
      try {
        proxy.setHosts(await reachable());
      } catch (error) {
        // Fail closed; the next signal, as after a lost connection, reads the rule again.
        proxy.setHosts([]);
        this.log.warn(
          { err: error, workspace_id: use.workspaceId },
          'egress is closed until its rule can be read',
        );
      }
    };
    return this.topics.subscribe(egressTopic(use.workspaceId), () => {
      turn = turn.then(look);
    });
  }

  private tell({ workspaceId, caller }: EgressUse, connection: EgressConnection): void {
    this.log.info(
      { workspace_id: workspaceId, caller, egress: connection },
      'a sandbox was connected to a host',
    );
  }

  private tellRefusal({ workspaceId, caller }: EgressUse, { reason }: EgressRefusal, target: string): void {
    const egress = { reason, target: target.slice(0, 200) };
    this.log.warn({ workspace_id: workspaceId, caller, egress }, 'a sandbox was refused a connection');
  }
}

async function fill(folder: string, proxy: EgressProxy, owner: EgressUse['owner']): Promise<void> {
  await writeFile(path.join(folder, 'relay.cjs'), relaySource, { mode: 0o444 });
  const socket = path.join(folder, 'egress.sock');
  await proxy.listen(socket);
  if (!owner) return;
  await chown(socket, owner.uid, owner.gid);
  // Last: from here on only that account reaches what is inside.
  await chown(folder, owner.uid, owner.gid);
}
