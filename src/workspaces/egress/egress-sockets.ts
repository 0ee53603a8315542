import { chown, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Injectable } from '@nestjs/common';
import {
  CertificateAuthority,
  type EgressConnection,
  EgressProxy,
  type EgressRefusal,
  type InspectionOptions,
  proxyVariables,
  relaySource,
  startRelay,
} from '#libs/egress-proxy/index.js';
import { isPublicAddress } from '#libs/guarded-fetch/index.js';
import { scratchFolder } from '#libs/sandbox/index.js';
import { Config } from '../../platform/config/index.js';
import { Log } from '../../platform/log/index.js';
import { Topics } from '../../platform/topics/index.js';
import {
  CredentialRules,
  credentialsTopic,
  type SandboxCredential,
  type SandboxUser,
} from './credential-rules.js';
import { EgressStore, egressTopic } from './egress.store.js';
import { Exchanges } from './exchanges.js';
import { RefusalLog } from './refusal-log.js';
import { PLACEHOLDER, Trust } from './trust.js';

const SHOWN = 20;
const ADVICE =
  'To let it through, an admin of the workspace adds it to hosts, with mode allow, by PATCH /api/workspaces/{id}/egress; without that, do without it.';

const ADDRESS_ADVICE =
  'Sandboxes reach public addresses; private ones only with the credential of a connection, where an operator lists the host in OUTGOING_PRIVATE_HOSTS.';

const CREDENTIAL_ADVICE =
  'To permit it, a person who manages the connection adds the method and the path to its grant for this workspace.';

const PORTS = [443, 80];
/** Where a sandbox sees its way out. */
const INSIDE = '/run/egress';

interface EgressUse extends SandboxUser {
  readonly owner: { readonly uid: number; readonly gid: number } | undefined;
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
  /** How a host at another address gets reached. */
  readonly addressAdvice?: string;
  /** Told of each refusal; the host is undefined where the request names none. */
  readonly onRefusal?: (refusal: EgressRefusal, host: string | undefined) => void;
  /** Whether the hosts of the workspace can be reached, too. */
  readonly withWorkspace: boolean;
  /** Which requests get credentials, asked again when that may have changed; by default those that the caller may use. */
  readonly credentials?: readonly SandboxCredential[] | (() => Promise<readonly SandboxCredential[]>);
}

/** What a workspace reaches, and nothing more. */
export const WORKSPACE_EGRESS: EgressList = { hosts: [], advice: ADVICE, withWorkspace: true };

/** The way out of one sandbox: a proxy, whose socket is in a host folder to be shown inside. */
export interface OpenEgress {
  readonly binds: readonly { readonly from: string; readonly to: string }[];
  readonly env: Readonly<Record<string, string>>;
  /** The module that hands connections on to the proxy, as the sandbox sees it. */
  readonly relay: string;
  /** Shell commands that start it, with this Node.js. */
  start(node: string): string;
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
    private readonly credentials: CredentialRules,
    private readonly topics: Topics,
    private readonly log: Log,
  ) {}

  /** Undefined where nothing can be reached. Later changes of the rules apply at once. */
  async open(use: EgressUse, list: EgressList = WORKSPACE_EGRESS): Promise<OpenEgress | undefined> {
    const hosts = await this.reachable(use.workspaceId, list);
    const rules = await this.rulesOf(use, list);
    if (hosts.length === 0 && rules.length === 0) return undefined;
    const folder = await scratchFolder(this.config.scratchDir, 'atelier-egress');
    const refused = new Set<string>();
    const refusals = new RefusalLog(this.log, use);
    // Programs of a sandbox that began without credentials do not know an authority.
    const authority = rules.length > 0 ? new CertificateAuthority('Atelier sandbox') : undefined;
    const proxy = new EgressProxy({
      hosts,
      ports: list.ports ?? PORTS,
      allows: list.allows ?? isPublicAddress,
      advice: list.advice,
      addressAdvice: list.addressAdvice ?? ADDRESS_ADVICE,
      onConnection: connection => this.tell(use, connection),
      onRefusal: (refusal, target) => {
        if (refused.size < SHOWN) refused.add(refusal.message);
        refusals.add(refusal, target);
        list.onRefusal?.(refusal, hostIn(target));
      },
      forwarder: new Exchanges(),
      ...(authority && { inspection: this.inspection(use, authority, rules) }),
    });
    const apply = async (): Promise<void> => {
      const current = authority ? await this.rulesOf(use, list) : [];
      proxy.setHosts(await this.reachable(use.workspaceId, list));
      if (authority) proxy.setRules(current);
    };
    const unfollow = this.follow(use, proxy, apply);
    const close = async (): Promise<void> => {
      unfollow();
      await proxy.close();
      refusals.close();
      if (rules.length > 0) await this.credentials.ended(use);
      await rm(folder, { recursive: true, force: true });
    };
    try {
      if (authority) await Trust.write(authority, folder);
      await fill(folder, proxy, use.owner);
      // The rules may have changed before the subscription.
      await apply();
    } catch (error) {
      await close();
      throw error;
    }
    const takeRefused = (): string[] => {
      const taken = [...refused];
      refused.clear();
      return taken;
    };
    const placeholders = rules.flatMap(({ variables }) => variables.map(name => [name, PLACEHOLDER]));
    const trust = authority ? Trust.variables(INSIDE) : {};
    return {
      binds: [{ from: folder, to: INSIDE }],
      env: { ...proxyVariables(), ...trust, ...Object.fromEntries(placeholders) },
      relay: `${INSIDE}/relay.cjs`,
      start: node => startRelay(node, INSIDE),
      takeRefused,
      close,
    };
  }

  private inspection(
    use: EgressUse,
    authority: CertificateAuthority,
    rules: readonly SandboxCredential[],
  ): InspectionOptions {
    const isPrivateAllowed = (address: string, host: string, port: number) =>
      this.config.outgoingPrivateHosts?.allows(address, host, String(port)) ?? false;
    return {
      authority,
      rules,
      advice: CREDENTIAL_ADVICE,
      allows: (address, host, port) => isPublicAddress(address) || isPrivateAllowed(address, host, port),
      onUse: (used, rule) => {
        const { connectionId, used: note } = rule as SandboxCredential;
        this.log.info(
          { workspace_id: use.workspaceId, caller: use.caller, connection_id: connectionId, egress: used },
          'a request of a sandbox got a credential',
        );
        note(used);
      },
    };
  }

  private async rulesOf(
    use: SandboxUser,
    { credentials }: EgressList,
  ): Promise<readonly SandboxCredential[]> {
    if (this.config.sandboxEgress === 'none') return [];
    if (typeof credentials === 'function') return credentials();
    return credentials ?? (await this.credentials.rulesFor(use));
  }

  /** The hosts of a list, and of the workspace where it says so. */
  async reachable(workspaceId: string, { hosts, withWorkspace }: EgressList): Promise<string[]> {
    return [...hosts, ...(withWorkspace ? await this.egress.reachableFrom(workspaceId) : [])];
  }

  /** Applies changes of the rules to a proxy; returns what unsubscribes. */
  private follow(use: EgressUse, proxy: EgressProxy, apply: () => Promise<void>): () => void {
    let turn = Promise.resolve();
    const look = async (): Promise<void> => {
      try {
        await apply();
      } catch (error) {
        // Fail closed; the next signal, as after a lost connection, reads the rules again.
        proxy.setHosts([]);
        proxy.setRules([]);
        this.log.warn(
          { err: error, workspace_id: use.workspaceId },
          'egress is closed until its rules can be read',
        );
      }
    };
    const topics = [egressTopic(use.workspaceId), credentialsTopic(use.workspaceId)];
    const ends = topics.map(topic =>
      this.topics.subscribe(topic, () => {
        turn = turn.then(look);
      }),
    );
    return () => {
      for (const end of ends) end();
    };
  }

  private tell({ workspaceId, caller }: EgressUse, connection: EgressConnection): void {
    this.log.info(
      { workspace_id: workspaceId, caller, egress: connection },
      'a sandbox was connected to a host',
    );
  }
}

/** The host that a request to a proxy names: an authority, or a URL. */
function hostIn(target: string): string | undefined {
  const url = URL.parse(/^https?:\/\//i.test(target) ? target : `https://${target}`);
  return url?.hostname.replace(/^\[|\]$/g, '');
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
