#pragma once

#include <stddef.h>

/// A file of `CloudKitHTTP/Pages/Content` as it is in the program.
struct page_content {
    const unsigned char *_Nonnull bytes;
    size_t count;
};

struct page_content page_content_account_html(void);
struct page_content page_content_account_js(void);
struct page_content page_content_account_approval_js(void);
struct page_content page_content_account_archive_js(void);
struct page_content page_content_account_databases_js(void);
struct page_content page_content_account_devices_js(void);
struct page_content page_content_address_html(void);
struct page_content page_content_invitation_html(void);
struct page_content page_content_key_approval_js(void);
struct page_content page_content_landing_html(void);
struct page_content page_content_notifications_worker_js(void);
struct page_content page_content_notifications_html(void);
struct page_content page_content_notifications_js(void);
struct page_content page_content_page_elements_js(void);
struct page_content page_content_passkeys_js(void);
struct page_content page_content_provider_html(void);
struct page_content page_content_provider_js(void);
struct page_content page_content_recovery_words_js(void);
struct page_content page_content_share_not_found_html(void);
struct page_content page_content_share_viewer_js(void);
struct page_content page_content_share_html(void);
struct page_content page_content_share_js(void);
struct page_content page_content_sign_in_refused_html(void);
struct page_content page_content_sign_in_html(void);
struct page_content page_content_sign_in_js(void);
struct page_content page_content_sign_up_closed_html(void);
struct page_content page_content_sign_up_html(void);
struct page_content page_content_style_css(void);
struct page_content page_content_welkin_encryption_js(void);
struct page_content page_content_welkin_js(void);
