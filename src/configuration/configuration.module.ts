import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Configuration } from './configuration.js';

@Global()
@Module({})
export class ConfigurationModule {
  static forRoot(configuration: Configuration): DynamicModule {
    return {
      module: ConfigurationModule,
      providers: [{ provide: Configuration, useValue: configuration }],
      exports: [Configuration],
    };
  }
}
