import type { INestApplicationContext, Type } from '@nestjs/common';
import {
  REDIRECT_METADATA,
  RENDER_METADATA,
  RESPONSE_PASSTHROUGH_METADATA,
  ROUTE_ARGS_METADATA,
  RouteParamtypes,
  SSE_METADATA,
} from '@nestjs/common/internal';
import { MetadataScanner, ModulesContainer } from '@nestjs/core';

/** Marks the method of a route that declares a body. Nest copies it to the handler. */
export const TAKES_BODY = 'takes-body';

/** @throws Error that names a route that would answer by itself, past the headers, the log, the metrics and the limits of all replies */
export function checkRoutes(app: INestApplicationContext): void {
  for (const { controllers } of app.get(ModulesContainer).values())
    for (const { metatype } of controllers.values())
      for (const name of new MetadataScanner().getAllMethodNames(metatype?.prototype ?? null))
        checkRoute(metatype as Type, name);
}

function checkRoute(controller: Type, name: string): void {
  const method = (controller.prototype as Record<string, object>)[name] ?? {};
  const declared: object = Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name) ?? {};
  const has = (type: RouteParamtypes): boolean =>
    Object.keys(declared).some((key) => key.startsWith(`${type}:`));
  const isPassedOn = Reflect.hasMetadata(RESPONSE_PASSTHROUGH_METADATA, controller, name);
  const uses = {
    '@Res': has(RouteParamtypes.RESPONSE) && !isPassedOn,
    '@Next': has(RouteParamtypes.NEXT),
    '@Redirect': Reflect.hasMetadata(REDIRECT_METADATA, method),
    '@Render': Reflect.hasMetadata(RENDER_METADATA, method),
    '@Sse': Reflect.hasMetadata(SSE_METADATA, method),
  };
  const [decorator] = Object.entries(uses).find(([, isUsed]) => isUsed) ?? [];
  if (decorator)
    throw new Error(
      `${controller.name}.${name} uses ${decorator}, which this service does not support: return a value, an Answer or a StreamableFile, or throw an HttpException. @Res needs { passthrough: true }.`,
    );
  if (has(RouteParamtypes.BODY)) Reflect.defineMetadata(TAKES_BODY, true, method);
}
