import CloudKitRecordLayer
import Testing

@testable import CloudKitServer

@Suite(.timeLimit(.minutes(20))) struct PushScheduleTests {
    private let a = StoragePartition("a")
    private let b = StoragePartition("b")

    @Test func `new work is done at once, by one worker at a time`() {
        var schedule = PushSchedule()
        schedule.note(a)
        schedule.note(a)
        schedule.note(b)
        #expect(schedule.begin(now: 0) == a)
        #expect(schedule.begin(now: 0) == b)
        #expect(schedule.begin(now: 0) == nil)
        schedule.note(a)
        #expect(schedule.begin(now: 0) == nil)
        schedule.end(a, hasSent: false, again: nil, now: 0)
        #expect(schedule.begin(now: 0) == a)
        schedule.end(a, hasSent: false, again: nil, now: 0)
        schedule.end(b, hasSent: false, again: nil, now: 0)
        #expect(schedule.begin(now: 1_000_000) == nil)
    }

    @Test func `after something was sent there is a rest, then another look`() {
        var schedule = PushSchedule()
        schedule.note(a)
        #expect(schedule.begin(now: 0) == a)
        schedule.note(a)
        schedule.end(a, hasSent: true, again: 5, now: 100)
        schedule.note(a)
        #expect(schedule.begin(now: 1_099) == nil)
        #expect(schedule.begin(now: 1_100) == a)
        schedule.end(a, hasSent: false, again: nil, now: 1_200)
        #expect(schedule.begin(now: 99_000) == nil)
    }

    @Test func `failed notifications are tried again in time, or when a new one arrives`() {
        var schedule = PushSchedule()
        schedule.note(a)
        schedule.note(b)
        _ = schedule.begin(now: 0)
        _ = schedule.begin(now: 0)
        schedule.end(a, hasSent: false, again: 5_000, now: 0)
        schedule.end(b, hasSent: false, again: 9_000, now: 0)
        #expect(schedule.begin(now: 4_999) == nil)
        schedule.note(b)
        #expect(schedule.begin(now: 4_999) == b)
        #expect(schedule.begin(now: 5_000) == a)
        schedule.end(b, hasSent: false, again: 9_000, now: 5_000)
        #expect(schedule.begin(now: 9_000) == b)
    }

    @Test func `a clock that is set back delays nothing`() {
        var schedule = PushSchedule()
        schedule.note(a)
        #expect(schedule.begin(now: 10_000_000) == a)
        schedule.end(a, hasSent: true, again: nil, now: 10_000_000)
        #expect(schedule.begin(now: 9_999_500) == nil)
        #expect(schedule.begin(now: 5_000_000) == a)
    }

    @Test func `so many are looked at together`() {
        var schedule = PushSchedule()
        for index in 0..<100 { schedule.note(StoragePartition("\(index)")) }
        var begun = 0
        while schedule.begin(now: 0) != nil { begun += 1 }
        #expect(begun == PushSchedule.workersMax)
        schedule.end(StoragePartition("0"), hasSent: false, again: nil, now: 0)
        #expect(schedule.begin(now: 0) == StoragePartition("\(PushSchedule.workersMax)"))
    }
}

@Suite(.timeLimit(.minutes(20))) struct PushBackoffTests {
    @Test func `pauses grow to an hour and vary by a fifth`() throws {
        var failures: PushFailures?
        var now: Int64 = 0
        var pauses: [Int64] = []
        for _ in 0..<14 {
            let next = try #require(PushBackoff.failures(after: failures, requestedDelay: nil, now: now, chance: 0))
            pauses.append(next.again - now)
            now = next.again
            failures = next
        }
        #expect(pauses[..<4] == [1_600, 3_200, 6_400, 12_800])
        #expect(pauses.last == 2_880_000)
        #expect(failures?.since == 0 && failures?.count == 14)
        let late = try #require(PushBackoff.failures(after: nil, requestedDelay: nil, now: 0, chance: 255))
        #expect(late.again == 2_400)
    }

    @Test func `a service's wish counts, within a day`() {
        #expect(PushBackoff.failures(after: nil, requestedDelay: 60, now: 0, chance: 0)?.again == 60_000)
        #expect(PushBackoff.failures(after: nil, requestedDelay: 0, now: 0, chance: 0)?.again == 1_600)
        #expect(PushBackoff.failures(after: nil, requestedDelay: -9, now: 0, chance: 0)?.again == 1_600)
        #expect(PushBackoff.failures(after: nil, requestedDelay: .max, now: 0, chance: 0)?.again == 86_400_000)
    }

    @Test func `a pause that was decided before the clock was set back is none`() throws {
        func isPause(since: Int64, again: Int64, now: Int64) -> Bool {
            PushBackoff.isPause(PushFailures(since: since, count: 1, again: again), now: now)
        }
        #expect(isPause(since: 4, again: 5, now: 4))
        #expect(!isPause(since: 4, again: 5, now: 5))
        #expect(!isPause(since: 4, again: 5, now: 3))
        #expect(isPause(since: 1, again: 86_400_001, now: 1))
        #expect(!isPause(since: 1, again: 86_400_002, now: 1))
        let earlier = PushFailures(since: 9_000_000, count: 3, again: 9_016_000)
        let next = try #require(PushBackoff.failures(after: earlier, requestedDelay: nil, now: 5, chance: 0))
        #expect(next.since == 5 && next.count == 4)
    }

    @Test func `after three days it is enough`() {
        let failures = PushFailures(since: 0, count: 90, again: 0)
        #expect(PushBackoff.failures(after: failures, requestedDelay: nil, now: 3 * 86_400_000 - 1, chance: 0) != nil)
        #expect(PushBackoff.failures(after: failures, requestedDelay: nil, now: 3 * 86_400_000, chance: 0) == nil)
    }
}
