import { Module } from '@nestjs/common';
import { AutomationsModule } from './automation/index.js';
import { NotificationsModule } from './notifications/index.js';
import { SecretsModule } from './secrets/index.js';
import { TriggersModule } from './triggers/index.js';

/** What happens without a person at the screen, and who is notified of it. */
@Module({ imports: [AutomationsModule, SecretsModule, TriggersModule, NotificationsModule] })
export class AutomationModule {}
