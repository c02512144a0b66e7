import CloudKitClient
import CloudKitDevice
import Testing

@testable import CloudKit

@Suite(.timeLimit(.minutes(20))) struct SyncScheduleTests {
    private func schedule(_ change: (inout SyncSchedule) -> Void) -> SyncSchedule {
        var schedule = SyncSchedule()
        change(&schedule)
        return schedule
    }

    @Test func `Nothing wanted, nothing done`() {
        #expect(SyncSchedule().next(at: .seconds(5)) == .idle)
    }

    @Test func `B-SYN-11 additions are collected for a moment, then sent`() {
        var schedule = SyncSchedule()
        schedule.wantSend(at: .seconds(1))
        schedule.wantSend(at: .seconds(1) + .milliseconds(5))
        #expect(schedule.next(at: .seconds(1)) == .wait(SyncSchedule.sendDelay))
        #expect(schedule.next(at: .seconds(1) + SyncSchedule.sendDelay) == .work(.send))
    }

    @Test func `A fetch comes before a send that is due as well`() {
        let schedule = schedule {
            $0.wantSend(at: .zero)
            $0.wantFetch(at: .seconds(1))
        }
        #expect(schedule.next(at: .seconds(1)) == .work(.fetch))
    }

    @Test func `B-PSH-02 without a notification the engine asks from time to time`() {
        var schedule = SyncSchedule()
        schedule.wantFetch(at: .zero)
        schedule.began(.fetch)
        schedule.ended(.fetch, .done, hasWork: false, at: .seconds(1), random: 0)
        #expect(schedule.next(at: .seconds(1)) == .wait(SyncSchedule.pollInterval))
        schedule.began(.fetch)
        schedule.receivesNotifications = true
        schedule.ended(.fetch, .done, hasWork: false, at: .seconds(2), random: 0)
        #expect(schedule.next(at: .seconds(2)) == .wait(SyncSchedule.pollIntervalListening))
    }

    @Test func `B-SYN-08 B-THR-04 failures in a row wait longer and longer, up to ten minutes`() {
        var schedule = SyncSchedule()
        var now = Duration.zero
        var waits: [Duration] = []
        for _ in 0..<12 {
            schedule.wantSend(at: now - SyncSchedule.sendDelay)
            schedule.began(.send)
            schedule.ended(.send, .failed(after: nil), hasWork: true, at: now, random: 1)
            guard case .wait(let wait) = schedule.next(at: now) else {
                Issue.record("a failure is followed by a pause")
                return
            }
            waits.append(wait)
            now += wait
        }
        #expect(Array(waits.prefix(4)) == [.seconds(1), .seconds(2), .seconds(4), .seconds(8)])
        #expect(waits.last == .seconds(600))
        schedule.began(.send)
        schedule.ended(.send, .done, hasWork: false, at: now, random: 1)
        #expect(schedule.failures == 0)
    }

    @Test func `Chance takes up to half of a pause`() {
        for random in [0.0, 0.25, 1] {
            var schedule = SyncSchedule()
            schedule.ended(.send, .failed(after: nil), hasWork: true, at: .zero, random: random)
            #expect(schedule.quietUntil == .seconds(1) * (0.5 + random / 2))
        }
    }

    @Test func `B-THR-02 a server that asks for a pause gets it`() {
        var schedule = SyncSchedule()
        schedule.ended(.fetch, .failed(after: .seconds(300)), hasWork: true, at: .zero, random: 0)
        #expect(schedule.next(at: .zero) == .wait(.seconds(300)))
        schedule.wantSend(at: .seconds(10))
        #expect(schedule.next(at: .seconds(10)) == .wait(.seconds(290)))
        #expect(schedule.next(at: .seconds(300)) == .work(.send))
    }

    @Test func `A fetch that fails again and again does not keep changes from being sent`() {
        var schedule = SyncSchedule()
        schedule.ended(.fetch, .failed(after: nil), hasWork: true, at: .zero, random: 1)
        #expect(schedule.next(at: .seconds(1)) == .work(.send))
        schedule.began(.send)
        schedule.ended(.send, .done, hasWork: false, at: .seconds(1), random: 1)
        #expect(schedule.next(at: .seconds(1)) == .work(.fetch))
    }

    @Test func `B-SYN-15 after a conflict the others' version is fetched before anything is sent`() {
        var schedule = SyncSchedule()
        schedule.ended(.send, .conflicted, hasWork: true, at: .seconds(1), random: 0)
        #expect(schedule.next(at: .seconds(1)) == .work(.fetch))
        schedule.began(.fetch)
        schedule.ended(.fetch, .done, hasWork: true, at: .seconds(1), random: 0)
        #expect(schedule.next(at: .seconds(2)) == .work(.send))
    }

    @Test func `An app that corrects nothing does not keep the network busy`() {
        var schedule = SyncSchedule()
        schedule.ended(.send, .refused, hasWork: true, at: .zero, random: 1)
        #expect(schedule.next(at: .zero) == .wait(SyncSchedule.sendDelay))
        schedule.ended(.send, .refused, hasWork: true, at: .zero, random: 1)
        #expect(schedule.next(at: .zero) == .wait(.seconds(1)))
        schedule.ended(.send, .refused, hasWork: true, at: .zero, random: 1)
        #expect(schedule.next(at: .zero) == .wait(.seconds(2)))
    }

    @Test func `B-SYN-12 a new account ends every pause`() {
        var schedule = SyncSchedule()
        schedule.ended(.fetch, .failed(after: .seconds(300)), hasWork: false, at: .zero, random: 0)
        schedule.endQuiet(at: .seconds(1))
        #expect(schedule.next(at: .seconds(1)) == .work(.fetch))
    }

    @Test(
        arguments: [
            .notAuthenticated, .accountTemporarilyUnavailable, .networkFailure, .networkUnavailable,
            .requestRateLimited,
            .serviceUnavailable, .zoneBusy,
        ] as [CKError.Code])
    func `B-SYN-08 changes that the engine retries stay pending`(code: CKError.Code) {
        #expect(SendFailureHandling(CKError(code)) == .retry)
        #expect(SyncOutcome(CKError(code)) == .failed(after: nil))
    }

    @Test func `B-SYN-08 changes that the device has no room to send stay pending`() {
        let noRoom = CKError(CallFailure.profileUnusable(FileFailure("write the file", ENOSPC)))
        #expect(SendFailureHandling(noRoom) == .retry)
        #expect(SyncOutcome(noRoom) == .failed(after: nil))
    }

    @Test(
        arguments: [
            .serverRecordChanged, .zoneNotFound, .unknownItem, .batchRequestFailed, .invalidArguments, .limitExceeded,
            .permissionFailure, .userDeletedZone, .referenceViolation, .quotaExceeded, .serverRejectedRequest,
            .assetFileNotFound, .internalError,
        ] as [CKError.Code])
    func `B-SYN-09 a change that the app has to correct is no longer pending`(code: CKError.Code) {
        #expect(SendFailureHandling(CKError(code)) == .leaveToApp)
    }

    @Test func `The longest pause that any item asks for counts`() {
        let slow = CKError.failure(.zoneBusy, reason: "busy", retryAfter: 7)
        let slower = CKError.failure(.requestRateLimited, reason: "wait", retryAfter: 30)
        let error = CKError.partialFailure(["a": slow, "b": slower, "c": CKError(.serverRecordChanged)])
        #expect(SyncOutcome(error) == .failed(after: .seconds(30)))
        #expect(SyncOutcome(CKError.partialFailure(["c": CKError(.serverRecordChanged)])) == .conflicted)
        #expect(SyncOutcome(CKError(.zoneNotFound)) == .refused)
    }

    @Test func `a pause that the server asks for counts with errors that the engine leaves to the app`() {
        let full = CKError.failure(.quotaExceeded, reason: "Quota exceeded", retryAfter: 300)
        #expect(SendFailureHandling(full) == .leaveToApp)
        #expect(SyncOutcome(full) == .failed(after: .seconds(300)))
        let error = CKError.partialFailure(["a": full, "b": CKError(.serverRecordChanged)])
        #expect(SyncOutcome(error) == .failed(after: .seconds(300)))
        var schedule = SyncSchedule()
        schedule.ended(.send, SyncOutcome(error), hasWork: true, at: .zero, random: 0)
        #expect(schedule.next(at: .seconds(299)) == .wait(.seconds(1)))
    }
}
