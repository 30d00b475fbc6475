-- Sends requests to the addresses of a DNS name in turn, and repeats one that failed at the next address. Promises: an address that DNS
-- names is used within two seconds, one that it names no longer is not; while DNS does not answer, or names nothing, the last list counts.
-- Why not a reload of nginx at each change: a reload closes the callers' idle connections, and requests on their way to them fail.
local balancer = require 'ngx.balancer'
local resolver = require 'nginx.dns.resolver'

local TRIES = 3
local addresses, port, turn = {}, 0, 0

local function ask(premature, name, server)
  if premature then return end
  local dns = resolver:new({ nameservers = { server }, retrans = 2, timeout = 400 })
  local answers = dns and dns:query(name, { qtype = resolver.TYPE_A })
  local found = {}
  for _, answer in ipairs(answers or {}) do found[#found + 1] = answer.address end
  if #found == 0 then return end
  table.sort(found) -- DNS changes the order from answer to answer
  addresses = found
end

local function follow(name, service_port, server)
  port = service_port
  ngx.timer.at(0, ask, name, server)
  ngx.timer.every(1, ask, name, server)
end

local function choose()
  if #addresses == 0 then return end
  local mine = ngx.ctx.turn
  if not mine then
    turn = turn + 1
    mine = turn
    balancer.set_more_tries(math.min(#addresses, TRIES) - 1)
  else
    mine = mine + 1
  end
  ngx.ctx.turn = mine
  balancer.set_current_peer(addresses[mine % #addresses + 1], port)
end

return { follow = follow, choose = choose }
