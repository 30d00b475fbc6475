import type { INestApplicationContext, Type } from '@nestjs/common';
import * as nest from '@nestjs/common/internal';
import { MetadataScanner, ModulesContainer } from '@nestjs/core';

/** Marks the method of a route that declares a body. Nest copies it to the handler. */
export const TAKES_BODY = 'takes-body';

/** @throws Error that names a route that would answer by itself, past the headers, the log, the metrics and the limits of all replies */
export function checkRoutes(app: INestApplicationContext): void {
  const modules = [...app.get(ModulesContainer).values()];
  for (const { metatype } of modules.flatMap(({ controllers }) => [...controllers.values()]))
    for (const name of new MetadataScanner().getAllMethodNames(metatype?.prototype ?? null))
      checkRoute(metatype as Type, name);
}

function checkRoute(controller: Type, name: string): void {
  const method = (controller.prototype as Record<string, object>)[name] ?? {};
  const parameters = Reflect.getMetadata(nest.ROUTE_ARGS_METADATA, controller, name) as object;
  // The keys are a type and a position. That of a custom decorator begins with a random text, which may begin with a digit
  const types = Object.keys(parameters ?? {}).map((key) => Number(key.split(':')[0]));
  const isPassedOn = Reflect.hasMetadata(nest.RESPONSE_PASSTHROUGH_METADATA, controller, name);
  const uses = {
    '@Res': types.includes(nest.RouteParamtypes.RESPONSE) && !isPassedOn,
    '@Next': types.includes(nest.RouteParamtypes.NEXT),
    '@Redirect': Reflect.hasMetadata(nest.REDIRECT_METADATA, method),
    '@Render': Reflect.hasMetadata(nest.RENDER_METADATA, method),
    '@Sse': Reflect.hasMetadata(nest.SSE_METADATA, method),
  };
  const [decorator] = Object.entries(uses).find(([, isUsed]) => isUsed) ?? [];
  if (decorator)
    throw new Error(
      `${controller.name}.${name} uses ${decorator}, which this service does not support: return a value, an Answer or a StreamableFile, or throw an HttpException. @Res needs { passthrough: true }.`,
    );
  if (types.includes(nest.RouteParamtypes.BODY)) Reflect.defineMetadata(TAKES_BODY, true, method);
}
