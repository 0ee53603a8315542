import { rmSync } from 'node:fs';

export default async function teardown() {
  if (!globalThis.atelierTest) return;
  const { folder, postgres } = globalThis.atelierTest;
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}
