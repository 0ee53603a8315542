import { Global, Module } from '@nestjs/common';
import { HeartbeatPool } from './heartbeat-pool.js';
import { Leases } from './leases.js';
import { NamedLeases } from './named-leases.js';

@Global()
@Module({ providers: [HeartbeatPool, Leases, NamedLeases], exports: [Leases, NamedLeases] })
export class LeasesModule {}
