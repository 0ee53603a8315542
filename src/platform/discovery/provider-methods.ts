import type { DiscoveryService, MetadataScanner } from '@nestjs/core';

/** A method of one of the service's providers. */
export interface ProviderMethod {
  readonly instance: object;
  readonly method: (...args: unknown[]) => unknown;
}

/** Every method of every provider, each once, for boot to look for declarations. */
export function* providerMethods(
  discovery: DiscoveryService,
  scanner: MetadataScanner,
): Generator<ProviderMethod> {
  const seen = new Set<object>();
  for (const { instance } of discovery.getProviders()) {
    if (typeof instance !== 'object' || instance === null || seen.has(instance)) continue;
    seen.add(instance);
    const prototype = Object.getPrototypeOf(instance);
    if (!prototype) continue;
    for (const name of scanner.getAllMethodNames(prototype))
      yield { instance, method: (instance as Record<string, ProviderMethod['method']>)[name] as never };
  }
}
