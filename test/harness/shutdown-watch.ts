import type { Server } from 'node:http';
import { ModulesContainer } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';

const HOOKS = ['onModuleDestroy', 'beforeApplicationShutdown', 'onApplicationShutdown'] as const;
/** Far longer than any stop takes, and shorter than the timeout of Jest, which does not say what was waited for. */
const SLOW_MS = 60_000;

type Hook = (...options: unknown[]) => unknown;

/**
 * Closes the service. A part whose end takes long is named on stderr; connections of clients are closed then, as they are
 * when a process of the service has to end.
 */
export async function closeWatched(app: NestFastifyApplication): Promise<void> {
  const pending = new Set<string>();
  for (const part of partsOf(app)) watch(part, pending);
  const timer = setTimeout(() => {
    const parts = [...pending].join(', ') || 'the HTTP server or the framework';
    const resources = Object.entries(Object.groupBy(process.getActiveResourcesInfo(), name => name))
      .map(([name, all = []]) => `${all.length} ${name}`)
      .join(', ');
    process.stderr.write(`The service does not end. It waits for: ${parts}. Open: ${resources}.\n`);
    (app.getHttpServer() as Server).closeAllConnections();
  }, SLOW_MS);
  try {
    await app.close();
  } finally {
    clearTimeout(timer);
  }
}

function partsOf(app: NestFastifyApplication): Set<Record<string, unknown>> {
  const modules = [...app.get(ModulesContainer, { strict: false }).values()];
  const instances = modules
    .flatMap(({ providers, controllers }) => [...providers.values(), ...controllers.values()])
    .map(({ instance }) => instance as Record<string, unknown> | null | undefined);
  return new Set(instances.filter(instance => typeof instance === 'object' && instance !== null));
}

function watch(part: Record<string, unknown>, pending: Set<string>): void {
  for (const name of HOOKS) {
    const hook = part[name] as Hook | undefined;
    if (typeof hook !== 'function') continue;
    const watched: Hook = async (...options) => {
      const called = `${part.constructor.name}.${name}`;
      pending.add(called);
      try {
        return await hook.apply(part, options);
      } finally {
        pending.delete(called);
      }
    };
    Object.assign(part, { [name]: watched });
  }
}
