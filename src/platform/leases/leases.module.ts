import { Global, Module } from '@nestjs/common';
import { Leases } from './leases.js';
import { NamedLeases } from './named-leases.js';

@Global()
@Module({ providers: [Leases, NamedLeases], exports: [Leases, NamedLeases] })
export class LeasesModule {}
