import Testing

@testable import HTTPTransfer

@Suite(.timeLimit(.minutes(20))) struct PollTimeoutTests {
    @Test func `A loop with nothing to do looks up now and then, sooner while an answer is awaited`() {
        #expect(PollTimeout(look: nil, canBeWoken: true, awaitsAnswer: false).milliseconds == 10_000)
        #expect(PollTimeout(look: nil, canBeWoken: true, awaitsAnswer: true).milliseconds == 500)
        #expect(PollTimeout(look: .seconds(3600), canBeWoken: true, awaitsAnswer: true).milliseconds == 500)
    }

    @Test func `It looks up when a transfer may be overdue, and not before`() {
        #expect(PollTimeout(look: .milliseconds(30), canBeWoken: true, awaitsAnswer: true).milliseconds == 31)
        #expect(PollTimeout(look: .microseconds(30), canBeWoken: true, awaitsAnswer: false).milliseconds == 1)
        #expect(PollTimeout(look: .seconds(-3), canBeWoken: true, awaitsAnswer: true).milliseconds == 0)
    }

    @Test func `Where mail does not wake it, it looks for mail`() {
        #expect(PollTimeout(look: nil, canBeWoken: false, awaitsAnswer: false).milliseconds == 20)
        #expect(PollTimeout(look: .seconds(9), canBeWoken: false, awaitsAnswer: true).milliseconds == 20)
    }
}
