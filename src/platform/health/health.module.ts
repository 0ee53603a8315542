import { Global, Module } from '@nestjs/common';
import { HealthController } from './health.controller.js';
import { HostingFacts } from './hosting-facts.js';

@Global()
@Module({ controllers: [HealthController], providers: [HostingFacts], exports: [HostingFacts] })
export class HealthModule {}
