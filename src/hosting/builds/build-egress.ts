import { Injectable } from '@nestjs/common';
import { AllowList } from '#libs/egress-proxy/index.js';
import { isPublicAddress, PrivateHosts } from '#libs/guarded-fetch/index.js';
import { Config } from '../../platform/config/index.js';
import { type EgressList, EgressSockets } from '../../workspaces/egress/index.js';
import { BuildFailure } from './project/build-failure.js';

const DEFAULT_REGISTRY = new URL('https://registry.npmjs.org/');
/** Name of the npm registry in lock files of Yarn. */
const YARN_HOST = 'registry.yarnpkg.com';

@Injectable()
export class BuildEgress {
  private readonly registries: readonly URL[];
  private readonly named: PrivateHosts;
  private readonly mode: Config['siteBuildEgress'];

  constructor(
    config: Config,
    private readonly sockets: EgressSockets,
  ) {
    const { siteBuildRegistries, sandboxEgress, siteBuildEgress } = config;
    this.registries = siteBuildRegistries ?? [DEFAULT_REGISTRY];
    this.named = PrivateHosts.parse((siteBuildRegistries ?? []).map(url => `${url.hostname}:${portOf(url)}`));
    this.mode = sandboxEgress === 'none' ? 'none' : siteBuildEgress;
  }

  /** Registry of projects that configure none. */
  get defaultRegistry(): string {
    return (this.registries[0] ?? DEFAULT_REGISTRY).href;
  }

  /** Hosts that an installation may reach. Throws BuildFailure if it may reach none. */
  forInstall(): EgressList {
    if (this.mode === 'none')
      throw new BuildFailure(
        'Builds of this installation reach no registry (SITE_BUILD_EGRESS=none, or SANDBOX_EGRESS=none), and the dependencies of this project are not here: install and build it elsewhere, and bring the folder that comes of it.',
      );
    const hosts = this.registries.map(({ hostname }) => hostname.replace(/^\[|\]$/g, ''));
    if (hosts.includes(DEFAULT_REGISTRY.hostname)) hosts.push(YARN_HOST);
    const ports = [...new Set([443, 80, ...this.registries.map(portOf)])];
    return {
      hosts,
      ports,
      advice: this.advice('install'),
      addressAdvice: this.advice('install'),
      allows: (address, host) =>
        isPublicAddress(address) || ports.some(port => this.named.allows(address, host, String(port))),
      withWorkspace: this.mode === 'workspace',
    };
  }

  /** Hosts without which an installation cannot succeed. */
  requiredHosts(registries: readonly string[]): Set<string> {
    const hosts = [this.defaultRegistry, ...registries].map(url => URL.parse(url)?.hostname ?? '');
    if (hosts.includes(DEFAULT_REGISTRY.hostname)) hosts.push(YARN_HOST);
    return new Set(hosts.map(host => host.replace(/^\[|\]$/g, '')));
  }

  forBuild(): EgressList | undefined {
    return this.mode === 'workspace'
      ? { hosts: [], advice: this.advice('build'), withWorkspace: true }
      : undefined;
  }

  /** Throws BuildFailure for registries that cannot be reached: their packages must not come from elsewhere. */
  async requireReachable(workspaceId: string, registries: readonly string[]): Promise<void> {
    if (registries.length === 0) return;
    const list = this.forInstall();
    const reachable = new AllowList(await this.sockets.reachable(workspaceId, list));
    for (const registry of registries) {
      const url = URL.parse(registry);
      const shown = JSON.stringify(url ? `${url.origin}${url.pathname}` : registry.slice(0, 100));
      if (url?.username || url?.password)
        throw new BuildFailure(`The registry ${shown} is named with a password, which builds do not use.`);
      if (!url || !reachable.allows(url.hostname.replace(/^\[|\]$/g, '')))
        throw new BuildFailure(
          `The project names the registry ${shown}, which cannot be reached. ${list.advice}`,
        );
    }
  }

  advice(phase: 'install' | 'build'): string {
    const byAdmin =
      'an admin of the workspace adds it to hosts, with mode allow, by PATCH /api/workspaces/{id}/egress';
    if (this.mode === 'workspace') return `To let it through, ${byAdmin}.`;
    if (phase === 'install')
      return 'An operator of this installation names registries in SITE_BUILD_REGISTRIES.';
    return `Builds reach no network once the dependencies are there. Put what is needed into the folder; or an operator sets SITE_BUILD_EGRESS=workspace, and ${byAdmin}.`;
  }
}

function portOf({ port, protocol }: URL): number {
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
}
