/**
 * The deployments of automations that led to something, so that none of them starts itself by what it does. It travels with the
 * actor: from the run of an automation to the agent's run, its tasks, tokens and actions, and into what these start.
 */
export interface Chain {
  /** Ids, the oldest first. Several may have led to one thing side by side. */
  readonly deployments: readonly string[];
  /** How many led to one another, at most. */
  readonly depth: number;
  /** A stranger's data is among what led to it. */
  readonly untrusted: boolean;
}

/** People and programs of their own did it. */
export const NO_CHAIN: Chain = { deployments: [], depth: 0, untrusted: false };

/** What led to something that all of these led to together. */
export function joinChains(chains: Iterable<Chain>): Chain {
  const deployments = new Set<string>();
  let depth = 0;
  let untrusted = false;
  for (const chain of chains) {
    for (const id of chain.deployments) deployments.add(id);
    depth = Math.max(depth, chain.depth);
    untrusted ||= chain.untrusted;
  }
  return { deployments: [...deployments], depth, untrusted };
}
