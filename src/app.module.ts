import { type DynamicModule, Module } from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { AuthModule } from './auth/auth.module.js';
import type { Configuration } from './configuration/configuration.js';
import { ConfigurationModule } from './configuration/configuration.module.js';
import { DatabaseModule } from './database/database.module.js';
import { DocumentationModule } from './documentation/documentation.module.js';
import { HomePageModule } from './documentation/home-page.module.js';
import { HttpModule } from './http/http.module.js';
import { ManagementModule } from './management/management.module.js';
import { OrderCaptureV2Module } from './order-capture-v2/order-capture-v2.module.js';
import { OrderSchedulingModule } from './order-scheduling/order-scheduling.module.js';
import { OrderUpdateModule } from './order-update/order-update.module.js';
import type { LogOutput } from './telemetry/service-logger.js';
import { TelemetryModule } from './telemetry/telemetry.module.js';

/** One module for each area of the contract. */
const AREA_MODULES = [OrderUpdateModule, OrderCaptureV2Module, OrderSchedulingModule];
/** The modules whose routes get BASE_PATH in front. Add each module with routes, except HomePageModule (route `/`). */
const BELOW_BASE_PATH = [...AREA_MODULES, DocumentationModule];

@Module({})
export class AppModule {
  /** @param logOutput takes the lines of the log; standard output if it is undefined */
  static forRoot(configuration: Configuration, logOutput?: LogOutput): DynamicModule {
    const { BASE_PATH } = configuration;
    return {
      module: AppModule,
      imports: [
        ConfigurationModule.forRoot(configuration),
        TelemetryModule.forRoot(logOutput),
        HttpModule,
        DatabaseModule,
        AuthModule,
        ...AREA_MODULES,
        DocumentationModule.forRoot(configuration),
        ManagementModule,
        RouterModule.register([{ path: BASE_PATH, children: BELOW_BASE_PATH }]),
        // DocumentationModule serves the home page only at BASE_PATH, but balancers also check `/`
        ...(BASE_PATH === '' ? [] : [HomePageModule]),
      ],
    };
  }
}
