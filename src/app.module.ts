import { type DynamicModule, Module } from '@nestjs/common';
import { AuthModule } from './auth/auth.module.js';
import type { Configuration } from './configuration/configuration.js';
import { ConfigurationModule } from './configuration/configuration.module.js';
import { DatabaseModule } from './database/database.module.js';
import { DocumentationModule } from './documentation/documentation.module.js';
import { HttpModule } from './http/http.module.js';
import { ManagementModule } from './management/management.module.js';
import { OrderCaptureV2Module } from './order-capture-v2/order-capture-v2.module.js';
import { OrderSchedulingModule } from './order-scheduling/order-scheduling.module.js';
import { OrderUpdateModule } from './order-update/order-update.module.js';
import { TelemetryModule } from './telemetry/telemetry.module.js';

@Module({})
export class AppModule {
  static forRoot(configuration: Configuration): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigurationModule.forRoot(configuration),
        TelemetryModule,
        HttpModule,
        DatabaseModule,
        AuthModule,
        OrderUpdateModule,
        OrderCaptureV2Module,
        OrderSchedulingModule,
        DocumentationModule.forRoot(configuration),
        ManagementModule,
      ],
    };
  }
}
