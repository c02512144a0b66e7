import CloudKitModel
import CloudKitServer
import FileStore
import OrderedStore
import TestEnvironment

/// Two nodes of one store, whose clocks are an hour apart.
struct TwoNodes {
    let first: TestCloud
    let second: TestCloud

    init(store: any OrderedStore = MemoryStore(epoch: 7), limits: Limits = Limits()) {
        let (here, there) = (TestServerEnvironment(), TestServerEnvironment())
        for time in [here, there] { time.sleep { _ in try await Task.sleep(for: .milliseconds(1)) } }
        there.advance(3_600_000)
        // The same seed would give both the same identifiers.
        _ = there.serverEnvironment.random(1)
        let files = MemoryFileStore(now: { here.now })
        first = TestCloud(store: store, files: files, time: here, limits: limits, isShared: true)
        second = TestCloud(store: store, files: files, time: there, limits: limits, isShared: true)
    }

    /// Lets time pass for both.
    func advance(_ milliseconds: Int64) {
        first.time.advance(milliseconds)
        second.time.advance(milliseconds)
    }
}
