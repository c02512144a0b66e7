import CloudKitAccounts
import CloudKitLogs
import CloudKitModel
import FileStore
import HTTPTypes
import HummingbirdCore
import NIOCore
import OrderedStore
import Synchronization
import Testing

@testable import CloudKitHTTP
@testable import CloudKitServer

@Suite(.timeLimit(.minutes(20))) struct ConnectionRequestsTests {
    private static func item(_ path: String) -> ConnectionRequests.Item {
        ConnectionRequests.Item(
            head: RequestHead(method: .get, target: path, headers: RequestHeaders([])),
            body: RequestBody(buffer: ByteBuffer()))
    }

    /// Returns a request that goes on after a wait.
    private static func continued(_ path: String) -> ConnectionRequests.Item {
        let cloud = Cloud(
            store: MemoryStore(), files: MemoryFileStore(now: { 0 }),
            serverEnvironment: ServerEnvironment(secret: [UInt8](repeating: 7, count: 32), now: { 0 }))
        let address = LongPollAddress(
            container: ContainerID("iCloud.com.example.app"), environment: .development, user: UserID("_1"), hash: [],
            sessionID: "")
        let poll = LongPoll(address: address, confirmed: nil, max: 1, ends: .zero, stamp: 0)
        var item = item(path)
        item.continued = WaitingRequest(
            id: LogID(milliseconds: 0), start: .now,
            PendingNotifications(poll: poll, courier: LongPollService(cloud: cloud)))
        return item
    }

    /// Adds a request; the task that it begins does nothing, its work is the test's.
    ///
    /// - Returns: Whether it needs a task.
    private static func add(_ item: ConnectionRequests.Item, to requests: ConnectionRequests) -> Bool {
        var needsTask = false
        requests.add(item) {
            needsTask = true
            return Task {}
        }
        return needsTask
    }

    @Test func `the first request needs a task, which takes the next ones`() async {
        let requests = ConnectionRequests()
        #expect(Self.add(Self.item("/1"), to: requests))
        #expect(await requests.next()?.head.target == "/1")
        #expect(!Self.add(Self.item("/2"), to: requests))
        #expect(await requests.next()?.head.target == "/2")
        requests.close()
        #expect(await requests.next() == nil)
        await requests.waitUntilEnded()
    }

    @Test func `a request that waits leaves no task, and needs one to go on`() async {
        let requests = ConnectionRequests()
        #expect(Self.add(Self.item("/1"), to: requests))
        #expect(await requests.next() != nil)
        requests.waits()
        #expect(requests.last() == nil)
        #expect(Self.add(Self.continued("/1"), to: requests))
        #expect(await requests.next()?.continued != nil)
        // A request that goes on before its task has ended is left to it.
        requests.waits()
        #expect(!Self.add(Self.continued("/1"), to: requests))
        #expect(requests.last() != nil)
        #expect(requests.last() == nil)
    }

    @Test func `a connection that rests has no task, and the next request needs one`() async {
        let requests = ConnectionRequests()
        for path in ["/1", "/2"] {
            #expect(Self.add(Self.item(path), to: requests))
            #expect(await requests.next()?.head.target == path)
            let rest = Task {
                // Until the task waits.
                while !Task.isCancelled {
                    requests.rest()
                    await Task.yield()
                }
            }
            #expect(await requests.next() == nil)
            rest.cancel()
            await rest.value
        }
        requests.close()
        await requests.waitUntilEnded()
    }

    @Test func `a request that comes while the connection begins to rest is left to its task or needs another one`()
        async
    {
        for _ in 0..<2_000 {
            let requests = ConnectionRequests()
            #expect(Self.add(Self.item("/1"), to: requests))
            #expect(await requests.next() != nil)
            async let next = requests.next()
            async let rest: Void = Task.detached { requests.rest() }.value
            async let needsTask = Task.detached { Self.add(Self.item("/2"), to: requests) }.value
            await rest
            if await needsTask {
                #expect(await next == nil)
                #expect(await requests.next()?.head.target == "/2")
            } else {
                #expect(await next?.head.target == "/2")
            }
        }
    }

    @Test func `a request that waits is handled also after its connection has closed, a new one is not`() async {
        let requests = ConnectionRequests()
        #expect(Self.add(Self.item("/1"), to: requests))
        #expect(await requests.next() != nil)
        requests.waits()
        #expect(requests.last() == nil)
        requests.close()
        let hasEnded = Mutex(false)
        let end = Task {
            await requests.waitUntilEnded()
            #expect(hasEnded.withLock { $0 })
        }
        #expect(!Self.add(Self.item("/2"), to: requests))
        #expect(Self.add(Self.continued("/1"), to: requests))
        #expect(await requests.next()?.continued != nil)
        hasEnded.withLock { $0 = true }
        #expect(await requests.next() == nil)
        await end.value
    }

    @Test(arguments: [true, false])
    func `cancelling ends the task that answers, also one that begins later`(isEarly: Bool) async {
        let requests = ConnectionRequests()
        let (handedOver, handOver) = AsyncStream.makeStream(of: String?.self)
        if isEarly { requests.cancel() }
        requests.add(Self.continued("/1")) {
            Task {
                while !Task.isCancelled { await Task.yield() }
                while let item = await requests.next() { handOver.yield(item.head.target) }
                handOver.finish()
            }
        }
        if !isEarly { requests.cancel() }
        await requests.waitUntilEnded()
        #expect(await handedOver.reduce(into: []) { $0.append($1) } == ["/1"])
    }

    @Test func `a request that comes while the task ends is left to it or needs another one`() async {
        for _ in 0..<2_000 {
            let requests = ConnectionRequests()
            #expect(Self.add(Self.item("/1"), to: requests))
            #expect(await requests.next() != nil)
            async let needsTask = Task.detached { Self.add(Self.item("/2"), to: requests) }.value
            async let last = Task.detached { requests.last() }.value
            let (isLeft, isStarted) = await (last != nil, needsTask)
            #expect(isLeft != isStarted)
        }
    }
}
