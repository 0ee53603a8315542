import { Conflict, Unavailable } from '../../../platform/errors/index.js';
import { ClientRejected, GrantRejected, ProviderFault } from '../../tokens/index.js';

/** What a request of ours to a provider failed with, as the problem that a person reads. */
export async function asProblem<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ProviderFault) throw new Unavailable(`${error.message}; try again later`);
    if (error instanceof GrantRejected || error instanceof ClientRejected) throw new Conflict(error.message);
    throw error;
  }
}
