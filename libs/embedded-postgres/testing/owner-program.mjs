/**
 * A process that owns a PostgreSQL, for tests that kill one. It writes one line of JSON when PostgreSQL runs or
 * could not be started, and stops it when its standard input ends.
 */
import './typescript-sources.mjs';

const { startPostgres } = await import('../index.js');
const report = content => process.stdout.write(`${JSON.stringify(content)}\n`);
try {
  const options = JSON.parse(process.argv[2]);
  const postgres = await startPostgres({ database: 'app', durable: false, ...options });
  report({ connection: postgres.connection, pid: postgres.pid });
  process.stdin.resume().once('end', () => postgres.stop());
} catch (error) {
  report({ name: error.name, error: error.message });
}
