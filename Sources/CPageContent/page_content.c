// The files of the pages, as bytes of the program. Swift's own `embedInCode` writes them as array literals, for which the compiler takes
// half of the time of CloudKitHTTP.
#include "page_content.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

#define FUNCTION(name) \
    struct page_content page_content_##name(void) { return (struct page_content){name, sizeof name}; }

static const unsigned char account_html[] = {
#embed "../CloudKitHTTP/Pages/Content/account.html"
};
FUNCTION(account_html)

static const unsigned char account_js[] = {
#embed "../CloudKitHTTP/Pages/Content/account.js"
};
FUNCTION(account_js)

static const unsigned char account_approval_js[] = {
#embed "../CloudKitHTTP/Pages/Content/account-approval.js"
};
FUNCTION(account_approval_js)

static const unsigned char account_archive_js[] = {
#embed "../CloudKitHTTP/Pages/Content/account-archive.js"
};
FUNCTION(account_archive_js)

static const unsigned char account_databases_js[] = {
#embed "../CloudKitHTTP/Pages/Content/account-databases.js"
};
FUNCTION(account_databases_js)

static const unsigned char account_devices_js[] = {
#embed "../CloudKitHTTP/Pages/Content/account-devices.js"
};
FUNCTION(account_devices_js)

static const unsigned char address_html[] = {
#embed "../CloudKitHTTP/Pages/Content/address.html"
};
FUNCTION(address_html)

static const unsigned char invitation_html[] = {
#embed "../CloudKitHTTP/Pages/Content/invitation.html"
};
FUNCTION(invitation_html)

static const unsigned char key_approval_js[] = {
#embed "../CloudKitHTTP/Pages/Content/key-approval.js"
};
FUNCTION(key_approval_js)

static const unsigned char landing_html[] = {
#embed "../CloudKitHTTP/Pages/Content/landing.html"
};
FUNCTION(landing_html)

static const unsigned char notifications_worker_js[] = {
#embed "../CloudKitHTTP/Pages/Content/notifications-worker.js"
};
FUNCTION(notifications_worker_js)

static const unsigned char notifications_html[] = {
#embed "../CloudKitHTTP/Pages/Content/notifications.html"
};
FUNCTION(notifications_html)

static const unsigned char notifications_js[] = {
#embed "../CloudKitHTTP/Pages/Content/notifications.js"
};
FUNCTION(notifications_js)

static const unsigned char page_elements_js[] = {
#embed "../CloudKitHTTP/Pages/Content/page-elements.js"
};
FUNCTION(page_elements_js)

static const unsigned char passkeys_js[] = {
#embed "../CloudKitHTTP/Pages/Content/passkeys.js"
};
FUNCTION(passkeys_js)

static const unsigned char provider_html[] = {
#embed "../CloudKitHTTP/Pages/Content/provider.html"
};
FUNCTION(provider_html)

static const unsigned char provider_js[] = {
#embed "../CloudKitHTTP/Pages/Content/provider.js"
};
FUNCTION(provider_js)

static const unsigned char recovery_words_js[] = {
#embed "../CloudKitHTTP/Pages/Content/recovery-words.js"
};
FUNCTION(recovery_words_js)

static const unsigned char share_not_found_html[] = {
#embed "../CloudKitHTTP/Pages/Content/share-not-found.html"
};
FUNCTION(share_not_found_html)

static const unsigned char share_viewer_js[] = {
#embed "../CloudKitHTTP/Pages/Content/share-viewer.js"
};
FUNCTION(share_viewer_js)

static const unsigned char share_html[] = {
#embed "../CloudKitHTTP/Pages/Content/share.html"
};
FUNCTION(share_html)

static const unsigned char share_js[] = {
#embed "../CloudKitHTTP/Pages/Content/share.js"
};
FUNCTION(share_js)

static const unsigned char sign_in_refused_html[] = {
#embed "../CloudKitHTTP/Pages/Content/sign-in-refused.html"
};
FUNCTION(sign_in_refused_html)

static const unsigned char sign_in_html[] = {
#embed "../CloudKitHTTP/Pages/Content/sign-in.html"
};
FUNCTION(sign_in_html)

static const unsigned char sign_in_js[] = {
#embed "../CloudKitHTTP/Pages/Content/sign-in.js"
};
FUNCTION(sign_in_js)

static const unsigned char sign_up_closed_html[] = {
#embed "../CloudKitHTTP/Pages/Content/sign-up-closed.html"
};
FUNCTION(sign_up_closed_html)

static const unsigned char sign_up_html[] = {
#embed "../CloudKitHTTP/Pages/Content/sign-up.html"
};
FUNCTION(sign_up_html)

static const unsigned char style_css[] = {
#embed "../CloudKitHTTP/Pages/Content/style.css"
};
FUNCTION(style_css)

static const unsigned char welkin_encryption_js[] = {
#embed "../CloudKitHTTP/Pages/Content/welkin-encryption.js"
};
FUNCTION(welkin_encryption_js)

static const unsigned char welkin_js[] = {
#embed "../CloudKitHTTP/Pages/Content/welkin.js"
};
FUNCTION(welkin_js)
