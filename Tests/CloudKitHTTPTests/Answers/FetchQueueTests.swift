import Testing

@testable import CloudKitHTTP

@Suite(.timeLimit(.minutes(20))) struct FetchQueueTests {
    private static let start = ContinuousClock.Instant.now
    private static func at(_ milliseconds: Int) -> ContinuousClock.Instant { start + .milliseconds(milliseconds) }

    /// A queue of one thread beside a save, with as many fetches as may run.
    private static func fullQueue(waitersMax: Int = 1024) -> FetchQueue<Int> {
        var queue = FetchQueue<Int>(threadCount: 1, waitersMax: waitersMax)
        queue.saveBegan()
        #expect(queue.begin(for: "ada", at: at(0)) == .unlimited)
        for _ in 0..<3 { #expect(queue.begin(for: "ada", at: at(0)) == .besideSaves) }
        #expect(queue.begin(for: "bob", at: at(0)) == .wait)
        return queue
    }

    @Test func `without saves there is no limit`() {
        var queue = FetchQueue<Int>(threadCount: 1)
        for _ in 0..<100 { #expect(queue.begin(for: "ada", at: Self.at(0)) == .unlimited) }
        for _ in 0..<100 { queue.end(for: "ada", seconds: nil, at: Self.at(0)) }
        queue.saveBegan()
        queue.saveEnded(at: Self.at(10))
        #expect(queue.begin(for: "ada", at: Self.at(20)) == .unlimited)
        #expect(queue.begin(for: "ada", at: Self.at(109)) == .besideSaves, "another save is expected")
        #expect(queue.begin(for: "ada", at: Self.at(110)) == .unlimited)
    }

    @Test func `beside saves some fetches run like any other request, some behind, and the others wait`() {
        var queue = Self.fullQueue()
        #expect(queue.wait(1, for: "bob", at: Self.at(0)) == true)
        #expect(queue.turn(at: Self.at(1)).granted == [])
        queue.end(for: "ada", seconds: nil, at: Self.at(2))
        #expect(queue.turn(at: Self.at(2)).granted == [1])
        #expect(queue.runningCount == 4)
    }

    @Test func `who waits goes on when nothing is saved any more`() {
        var queue = Self.fullQueue()
        for waiter in 1...3 { #expect(queue.wait(waiter, for: "bob", at: Self.at(0)) == true) }
        queue.saveEnded(at: Self.at(10))
        #expect(queue.turn(at: Self.at(20)).next == Self.at(120))
        #expect(queue.turn(at: Self.at(110)).granted == [1, 2, 3])
        #expect(queue.turn(at: Self.at(110)).next == nil)
    }

    @Test func `who has used least is next`() {
        var queue = Self.fullQueue()
        for waiter in 1...3 { #expect(queue.wait(waiter, for: "ada", at: Self.at(0)) == true) }
        #expect(queue.wait(4, for: "bob", at: Self.at(10)) == true)
        queue.end(for: "ada", seconds: 0.01, at: Self.at(20))
        #expect(queue.turn(at: Self.at(20)).granted == [4])
        queue.end(for: "bob", seconds: 0.02, at: Self.at(30))
        #expect(queue.turn(at: Self.at(30)).granted == [1])
        #expect(queue.wait(5, for: "bob", at: Self.at(30)) == true)
        #expect(queue.wait(6, for: "eve", at: Self.at(30)) == true)
        queue.end(for: "ada", seconds: 0.5, at: Self.at(40))
        #expect(queue.turn(at: Self.at(40)).granted == [6], "who comes later does not begin with nothing")
        queue.end(for: "eve", seconds: 0.5, at: Self.at(50))
        #expect(queue.turn(at: Self.at(50)).granted == [5])
    }

    @Test func `what a sender has used is forgotten when nothing runs`() {
        var queue = Self.fullQueue()
        for _ in 0..<4 { queue.end(for: "ada", seconds: 1, at: Self.at(10)) }
        for _ in 0..<4 { _ = queue.begin(for: "eve", at: Self.at(20)) }
        #expect(queue.wait(1, for: "ada", at: Self.at(20)) == true)
        #expect(queue.wait(2, for: "bob", at: Self.at(21)) == true)
        queue.end(for: "eve", seconds: 0.01, at: Self.at(30))
        #expect(queue.turn(at: Self.at(30)).granted == [1], "who came first")
    }

    @Test func `those who wait too long are refused, and only so many wait`() {
        var queue = Self.fullQueue(waitersMax: 7)
        for waiter in 1...7 { #expect(queue.wait(waiter, for: "bob", at: Self.at(0)) == true) }
        #expect(queue.wait(8, for: "eve", at: Self.at(2)) == false)
        #expect(queue.begin(for: "eve", at: Self.at(2)) == .wait)
        for waiter in 1...4 {
            queue.end(for: "ada", seconds: 0.4, at: Self.at(400 * waiter))
            #expect(queue.turn(at: Self.at(400 * waiter)).granted == [waiter])
        }
        #expect(queue.turn(at: Self.at(1999)).refused == [])
        let late = queue.turn(at: Self.at(2000))
        #expect(late.refused == [5, 6, 7])
        #expect(late.next == nil)
        #expect(queue.waiterCount == 0)
    }

    @Test func `nothing is limited while fetches run and none ends`() {
        var queue = Self.fullQueue()
        #expect(queue.wait(1, for: "bob", at: Self.at(0)) == true)
        #expect(queue.turn(at: Self.at(499)).granted == [])
        #expect(queue.turn(at: Self.at(500)).granted == [1])
        #expect(queue.begin(for: "eve", at: Self.at(600)) == .unlimited)
        queue.end(for: "eve", seconds: nil, at: Self.at(700))
        #expect(queue.begin(for: "eve", at: Self.at(701)) == .wait, "they work again")
    }
}
